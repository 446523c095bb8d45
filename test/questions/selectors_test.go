package questions

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit"
)

// TestFieldSelectors selects each kind by all of its selectable fields, with values that objects have and do not have,
// and by fields of other kinds (semantics 5.3). Answers that are not refusals come from the cache.
func TestFieldSelectors(t *testing.T) {
	t.Parallel()
	o := newOracle(t, cacheEverything)
	common := []string{"metadata.name=alpha", "metadata.namespace=oracle", "metadata.uid=x", "name=alpha", "spec=x", "status.phase=Active"}
	all := map[string][]string{
		"/api/v1/pods": {
			"spec.nodeName=node-1", "spec.nodeName=", "spec.nodeName!=node-1", "spec.host=node-1", "spec.restartPolicy=Never", "spec.restartPolicy!=Always",
			"spec.schedulerName=missing", "spec.serviceAccountName=default", "spec.serviceAccountName=", "spec.hostNetwork=true", "spec.hostNetwork=false",
			"spec.hostNetwork=", "status.phase=Running", "status.phase!=Running,status.phase!=Pending", "status.podIP=10.2.0.1", "status.podIP=",
			"status.podIPs=", "status.podIPs=10.2.0.1", "status.nominatedNodeName=node-2", "status.nominatedNodeName=",
			"spec.nodeName=node-1,spec.restartPolicy=Always", "spec.nodeName=node-1,spec.nodeName=node-2",
		},
		"/api/v1/namespaces/oracle/pods": {"spec.nodeName==", "spec.hostNetwork=true,metadata.namespace=oracle-b"},
		"/api/v1/nodes":                  {"spec.unschedulable=true", "spec.unschedulable=false", "spec.unschedulable=", "spec.unschedulable!=true"},
		"/api/v1/replicationcontrollers": {"status.replicas=0", "status.replicas=1", "status.replicas="},
		"/api/v1/namespaces":             {"status.phase=Active", "status.phase=Terminating", "metadata.name=oracle,status.phase=Active"},
		"/api/v1/secrets":                {"type=Opaque", "type=example.com/oracle", "type!=Opaque", "type="},
		"/api/v1/services":               {"spec.clusterIP=None", "spec.clusterIP=", "spec.clusterIP!=None", "spec.type=ExternalName", "spec.type=ClusterIP"},
		"/api/v1/events": {
			"involvedObject.kind=Pod", "involvedObject.namespace=oracle", "involvedObject.name=alpha", "involvedObject.uid=u-1", "involvedObject.apiVersion=v1",
			"involvedObject.resourceVersion=7", "involvedObject.fieldPath=spec.containers{c}", "reason=Tested", "reportingComponent=example.com/oracle",
			"reportingComponent=", "source=oracle", "source=example.com/oracle", "source=", "type=Warning", "regarding.kind=Pod",
		},
		"/apis/events.k8s.io/v1/events": {
			"regarding.kind=Pod", "regarding.name=alpha", "regarding.namespace=oracle", "regarding.uid=u-1", "regarding.apiVersion=v1", "regarding.resourceVersion=7",
			"regarding.fieldPath=spec.containers{c}", "reason=Tested", "reportingController=example.com/oracle", "type=Warning", "source=oracle", "involvedObject.kind=Pod",
		},
		"/apis/batch/v1/jobs": {"status.successful=0", "status.successful=1", "status.successful=", "status.succeeded=0"},
		"/apis/certificates.k8s.io/v1/certificatesigningrequests": {"spec.signerName=example.com/oracle", "spec.signerName="},
		"/apis/certificates.k8s.io/v1/clustertrustbundles":        {"spec.signerName=example.com/oracle", "spec.signerName="},
		"/apis/certificates.k8s.io/v1/podcertificaterequests":     {"spec.signerName=example.com/oracle", "spec.podName=alpha", "spec.nodeName=node-1"},
		"/apis/resource.k8s.io/v1/resourceslices":                 {"spec.nodeName=node-0", "spec.nodeName=", "spec.driver=d.example.com", "spec.pool.name=q"},
		"/apis/apps/v1/replicasets":                               {"status.replicas=0"},
		"/apis/ex.io/v1/widgets": {
			"spec.color=red", "spec.color!=red", "spec.color=", "spec.weight=12", "spec.weight=", "spec.weight!=12", "spec.size=small", ".spec.color=red", "spec.color=red,spec.weight=",
		},
		"/apis/ex.io/v1/namespaces/oracle/widgets": {"spec.color=red", "spec.color=blue,metadata.name=alpha"},
		"/apis/ex.io/v1/gadgets":                   {"spec.text=x"},
		"/apis/networking.k8s.io/v1/ipaddresses":   {"metadata.name=10.250.0.1", "metadata.name=fd00:250::1"},
	}
	for i, path := range slices.Sorted(maps.Keys(all)) {
		selectors := slices.Concat(all[path], everyNth(len(common), i, common))
		queries := make([]string, 0, len(selectors))
		for _, selector := range selectors {
			queries = append(queries, "fieldSelector="+url.QueryEscape(selector))
		}
		o.FromCache(t, func() {
			o.Compare(t, testkit.Question{Path: path + "?resourceVersion=0"}) // waits for the cache, which a refusal hardly does
			for _, query := range queries {
				o.Compare(t, testkit.Question{Path: path + "?resourceVersion=0&" + query})
				o.Compare(t, testkit.Question{Path: path + "?resourceVersion=0&labelSelector=oracle&" + query, Header: http.Header{"Accept": {tableV1}}})
			}
		})
		for _, query := range queries {
			// kube-apiserver has no index of spec.nodeName here, which affects its pages.
			if strings.HasSuffix(path, "/podcertificaterequests") && strings.Contains(query, "nodeName") {
				continue
			}
			o.Compare(t, testkit.Question{Path: path + "?limit=1&" + query})
		}
	}
}
