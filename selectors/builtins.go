package selectors

var (
	nameOnly         = []string{nameLabel}
	nameAndNamespace = []string{nameLabel, namespaceLabel}
)

// builtins is the table of built-in kinds. It is read-only. kube-apiserver has these peculiarities:
//
//   - PodCertificateRequest rejects metadata.namespace like some cluster-scoped kinds, although it is namespaced.
//   - Pod accepts status.podIPs, but no object has a value for it.
//   - Requests cannot select by some members of the server's field sets: ReplicaSet status.replicas, LeaseCandidate
//     spec.leaseName, Namespace name.
var builtins = []builtin{
	{
		kind: "Pod", versions: []string{"v1"}, metadata: nameAndNamespace, refuse: refusePlainly,
		fields: []offer{
			at("spec.nodeName").spread(OfPlacement),
			at("status.phase"), // first of its Spread, because Field finds the first fastest and most requests use this one
			at("spec.restartPolicy"),
			at("spec.schedulerName"),
			at("spec.serviceAccountName"),
			at("spec.hostNetwork").or("false").since("1.28"),
			// The server compares its internal podIPs[0]. In v1 JSON, podIP is the same address.
			from("status.podIP", "status.podIPs.0.ip", "status.podIP").spread(Own),
			at("status.nominatedNodeName").spread(OfPlacement),
		},
		aliases: map[string]string{
			"spec.host":     "spec.nodeName", // for clients older than v1
			"status.podIPs": "status.podIPs", // accepted, but always compares as ""
		},
	},
	{
		kind: "Node", versions: []string{"v1"}, metadata: nameOnly, refuse: refusePlainly,
		fields: []offer{at("spec.unschedulable").or("false")},
	},
	{
		kind: "ReplicationController", versions: []string{"v1"}, metadata: nameAndNamespace, refuse: refusePlainly,
		fields: []offer{at("status.replicas").or("0")},
	},
	{
		kind: "Event", versions: []string{"v1"}, metadata: nameAndNamespace, refuse: refusePlainly,
		fields: []offer{
			at("involvedObject.kind"),
			at("involvedObject.namespace"),
			at("involvedObject.name").spread(Own),
			at("involvedObject.uid").spread(Own),
			at("involvedObject.apiVersion"),
			at("involvedObject.resourceVersion").spread(Own),
			at("involvedObject.fieldPath"),
			at("reason"),
			at("reportingComponent").since("1.20"),
			from("source", "source.component", "reportingComponent"),
			at("type"),
		},
	},
	{
		kind: "Namespace", versions: []string{"v1"}, metadata: nameOnly, refuse: refusePlainly,
		fields: []offer{at("status.phase")},
	},
	{
		kind: "Secret", versions: []string{"v1"}, metadata: nameAndNamespace, refuse: refusePlainly,
		fields: []offer{at("type")},
	},
	{
		kind: "Service", versions: []string{"v1"}, metadata: nameAndNamespace, refuse: refusePlainly,
		fields: []offer{at("spec.clusterIP").spread(Own).since("1.31"), at("spec.type").since("1.31")},
	},
	{
		// These are the objects of core Events, but some fields have other names. Requests and JSON use regarding and
		// reportingController, while the labels of fields in kube-apiserver have the core names. The field named source
		// of core Events is not selectable here.
		group: "events.k8s.io", kind: "Event", versions: []string{"v1", "v1beta1"},
		metadata: nameAndNamespace, refuse: refusePlainly,
		fields: []offer{
			renamed("regarding.kind", "involvedObject.kind"),
			renamed("regarding.namespace", "involvedObject.namespace"),
			renamed("regarding.name", "involvedObject.name").spread(Own),
			renamed("regarding.uid", "involvedObject.uid").spread(Own),
			renamed("regarding.apiVersion", "involvedObject.apiVersion"),
			renamed("regarding.resourceVersion", "involvedObject.resourceVersion").spread(Own),
			renamed("regarding.fieldPath", "involvedObject.fieldPath"),
			at("reason"),
			renamed("reportingController", "reportingComponent").since("1.20"),
			at("type"),
		},
	},
	{
		group: "batch", kind: "Job", versions: []string{"v1"}, metadata: nameAndNamespace, refuse: refuseForJob,
		fields: []offer{from("status.successful", "status.succeeded").or("0")},
	},
	{
		group: "certificates.k8s.io", kind: "CertificateSigningRequest", versions: []string{"v1", "v1beta1"},
		metadata: nameOnly, refuse: refusePlainly,
		fields: []offer{at("spec.signerName")},
	},
	{
		group: "certificates.k8s.io", kind: "ClusterTrustBundle", versions: []string{"v1", "v1beta1", "v1alpha1"},
		metadata: nameOnly, refuse: refusePlainly,
		fields: []offer{at("spec.signerName")},
	},
	{
		group: "certificates.k8s.io", kind: "PodCertificateRequest", versions: []string{"v1", "v1beta1", "v1alpha1"},
		metadata: nameOnly, refuse: refusePlainly,
		fields: []offer{at("spec.signerName"), at("spec.podName").spread(Own).since("1.34"),
			at("spec.nodeName").spread(OfPlacement).since("1.34")},
	},
	{
		group: "resource.k8s.io", kind: "ResourceSlice", versions: []string{"v1", "v1beta1", "v1beta2"},
		metadata: nameOnly, refuse: refuseWithKind,
		fields: []offer{at("spec.nodeName").spread(Own), at("spec.driver"), at("spec.pool.name").spread(Own).since("1.34")},
	},
}
