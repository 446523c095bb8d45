package testkit

// choices are the valid and invalid values of a parameter or header.
type choices struct{ good, odd []string }

// parameter is a query parameter or header, with the percentage of questions that contain it.
type parameter struct {
	name    string
	percent int
	choices
}

const (
	askTable        = "application/json;as=Table;v=v1;g=meta.k8s.io"
	askOldTable     = "application/json;as=Table;v=v1beta1;g=meta.k8s.io"
	askMetadata     = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
	askMetadataList = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
	askProtobuf     = "application/vnd.kubernetes.protobuf"
	askEither       = askProtobuf + ",application/json" // as typed clients send it
	askMetadataPB   = askProtobuf + ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	askOldMetaPB    = askProtobuf + ";as=PartialObjectMetadata;v=v1beta1;g=meta.k8s.io"
	askMetaListPB   = askProtobuf + ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	askOldListPB    = askProtobuf + ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1beta1"
	askBothMetaPB   = askMetadataPB + "," + askMetaListPB
	askOldMetadata  = "application/json;as=PartialObjectMetadata;v=v1beta1;g=meta.k8s.io"
	askDiscovery    = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
)

var (
	namespaces = []string{"oracle", "oracle", "oracle-b", "oracle-empty", "nowhere", "Odd_Name"}
	oddNames   = []string{"missing", "A_B", "a.b", "a%2Fb", "%25", "...", "a%20b", "-"}
	endings    = []string{"/", "/status", "/scale", "/nothing", "/status/x"}
	watchWords = []string{"watch=1", "watch=true", "watch=", "watch", "watch=maybe", "watch=TRUE", "watch=1&watch=0"}
	junk       = []string{"%zz=1", "a;b=c", "&&=&=x", "unknown=1", "export=true", "shardSelector=x", "limit", "=",
		"resourceversion=1"}
	documents = []string{
		"/api", "/apis", "/api/v1", "/apis/apps", "/apis/apps/v1", "/apis/ex.io", "/apis/ex.io/v1", "/apis/ex.io/v1beta1",
		"/version", "/openapi/v3",
		"/.well-known/openid-configuration", "/openid/v1/jwks", "/apis/batch/v1", "/", "/api/", "/apis/", "/apis/ex.io/v1/",
		"/openapi/v3/apis/ex.io/v1", "/livez/ping",
	}
	lostPaths = []string{
		"/foo", "/api/v2/pods", "/api/v1/foos", "/api/v1/namespaces/oracle/foos/x", "/apis/nope.io",
		"/apis/nope.io/v1/things", "/apis/apps/v9/deployments",
		"/apis/ex.io/v9/widgets", "/apis/ex.io/v1/foos", "/api/v1/configmaps/", "/apis/ex.io/v1/widgets/",
		"//api/v1/configmaps", "/api/v1//configmaps",
		"/api/v1/namespaces/oracle/pods/alpha/nothing/x", "/api/v1/bindings", "/apis/ex.io/v1/namespaces/oracle/gadgets",
		"/api/v1/../v1/pods",
		"/apis/apps/v1/namespaces//deployments", "/api/v1/namespaces/oracle/configmaps/alpha/x/y", "/api/v1/pods/x",
		"/apis/v1", "/api/v1/watch/foos",
		"/apis/ex.io/v1/widgets/alpha", "/apis/ex.io/v1/namespaces/oracle/widgets/alpha/status", "/%2e/api", "/openapi/v4",
	}
)

// tokens are blanks that stand for the servers' continue tokens. Some are altered, which clients must not do.
var tokens = []string{
	blankUpstreamToken, blankUpstreamToken, blankUpstreamToken, blankUpstreamToken, blankFacadeToken, blankFacadeToken,
	blankFacadeToken, blankFacadeToken,
	blankLatestToken, blankLatestToken, blankMovedToken, blankCutToken, blankOutsideToken, blankFutureToken,
}

// kindFields are additional field selectors for some resources. kube-apiserver has an index of spec.nodeName, which
// affects its pages.
var kindFields = map[string][]string{
	"pods": {"spec.nodeName=", "spec.nodeName=node-1", "spec.nodeName!=x",
		"status.phase=Pending,spec.restartPolicy=Always", "spec.host=", "status.podIP=", "spec.hostNetwork=false",
		"status.podIPs="},
	"nodes":      {"spec.unschedulable=false", "spec.unschedulable=true", "metadata.namespace=x"},
	"namespaces": {"status.phase=Active", "status.phase!=Active,metadata.name!=default", "name=oracle"},
	"events": {"type=Normal", "reason!=x,involvedObject.kind=Pod", "source=", "regarding.kind=Pod",
		"reportingController=", "reportingComponent="},
	"secrets": {"type=Opaque", "type!=Opaque"},
	"services": {"spec.type=ClusterIP", "spec.clusterIP=None",
		"spec.clusterIP!=None,spec.type!=NodePort"},
	"replicationcontrollers":     {"status.replicas=0", "status.replicas!=0"},
	"jobs":                       {"status.successful=0", "status.successful!=1", "status.failed=0"},
	"certificatesigningrequests": {"spec.signerName=x", "spec.signerName!=x"},
	"clustertrustbundles":        {"spec.signerName=", "spec.signerName!=x"},
	"podcertificaterequests":     {"spec.podName!=x", "spec.nodeName!=x,spec.signerName!=x"},
	"resourceslices":             {"spec.driver!=x,spec.pool.name!=x", "spec.nodeName!=x", "spec.nodeName=node-0"},
	"widgets": {"spec.color=red", "spec.color!=red", "spec.weight=12", "spec.weight=",
		"spec.size=small"},
	"validatingadmissionpolicies": {"spec.paramKind=x"},
}

var versionsOfLists = choices{
	good: []string{"", "0", "0", "0", "1", blankVersion, blankVersion},
	odd:  []string{"abc", "-1", "007", "+1", "1.5", "18446744073709551616", "0x10", " "},
}

// versionsOfWatches contains no resourceVersion from before the facade's start.
var versionsOfWatches = choices{good: []string{"", "0", "0", blankVersion, blankVersion, "9999999999"},
	odd: []string{"abc", "-1", "1.5", " "}}

var matches = choices{good: []string{"NotOlderThan", "NotOlderThan", "Exact", ""}, odd: []string{"exact", "foo"}}

var labelSelectors = choices{
	good: []string{
		"oracle", "oracle=one", "oracle!=one", "oracle in (one, two)", "oracle notin (one)", "!oracle", "empty=",
		"oracle=missing", "oracle,!empty", "",
		"app.kubernetes.io/part-of", "oracle>1", "oracle<1", "oracle==two,oracle",
	},
	odd: []string{"a b", "!", "a in b", "a in (b", "a=b=c", "=a", "a,,b", "a,", "a===b", "a>x", "a/b/c=d", "a=b%25", "<a>",
		"a in ()", " ", "a=,b"},
}

var fieldSelectors = choices{
	good: []string{
		"metadata.name=alpha", "metadata.name=oracle-1", "metadata.name!=alpha", "metadata.namespace=oracle",
		"metadata.namespace!=oracle", "metadata.name=", "",
		"metadata.namespace=oracle-b,metadata.name=beta", "metadata.name==alpha", "metadata.name=alpha,metadata.name=beta",
		"metadata.name=missing",
	},
	odd: []string{
		"status.phase=Running", "spec.color=red", "type=Opaque", "foo", "foo=bar", `metadata.name=\x`, "metadata.name=a=b",
		"metadata.name=a/b", "metadata.name=..",
		"metadata.name=%", ",,,", "metadata.uid=x", "=", "metadata.name!", "spec.unschedulable=false", "metadata.name<a",
	},
}

var booleans = choices{good: []string{"true", "false", "1", "0"}, odd: []string{"", "maybe", "FALSE"}}

var (
	byPretty  = parameter{"pretty", 8, booleans}
	byTimeout = parameter{"timeout", 6, choices{[]string{"30s", "1m", "1h"}, []string{"abc", "1", "-1s", "", "0"}}}
	byInclude = parameter{"includeObject", 12,
		choices{[]string{"None", "Metadata", "Object"}, []string{"foo", "", "none"}}}
	byLabels = parameter{"labelSelector", 30, labelSelectors}
	byFields = parameter{"fieldSelector", 25, fieldSelectors}
)

var listParameters = []parameter{
	{"resourceVersion", 60, versionsOfLists},
	{"resourceVersionMatch", 20, matches},
	{"limit", 30, choices{[]string{"0", "1", "2", "3", "500"},
		[]string{"abc", "", "-1", "1.5", "99999999999999999999", "9223372036854775807"}}},
	{"continue", 12, choices{tokens, []string{
		"abc", "%", "e30", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiYSJ9",
		"eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MCwic3RhcnQiOiJhIn0", "",
	}}},
	{"watch", 4, choices{[]string{"0", "false"}, []string{"FALSE"}}},
	{"allowWatchBookmarks", 4, booleans},
	{"sendInitialEvents", 3, booleans},
	{"timeoutSeconds", 4, choices{[]string{"1", "0"}, []string{"abc", "", "-1"}}},
	byLabels, byFields, byPretty, byTimeout, byInclude,
}

var getParameters = []parameter{
	{"resourceVersion", 60, versionsOfLists},
	{"resourceVersionMatch", 4, matches},
	{"labelSelector", 4, labelSelectors},
	{"fieldSelector", 4, fieldSelectors},
	{"limit", 4, choices{[]string{"1"}, []string{"abc"}}},
	byPretty, byTimeout, byInclude,
}

var watchParameters = []parameter{
	{"resourceVersion", 60, versionsOfWatches},
	{"resourceVersionMatch", 25, choices{[]string{"NotOlderThan"}, []string{"Exact", "foo", ""}}},
	{"sendInitialEvents", 25, booleans},
	{"allowWatchBookmarks", 50, booleans},
	{"limit", 5, choices{[]string{"1"}, []string{"abc"}}},
	{"continue", 2, choices{good: []string{"abc", blankUpstreamToken}}},
	byLabels, byFields, byPretty, byTimeout, byInclude,
}

var readHeaders = []parameter{
	{"Accept", 85, choices{
		good: []string{
			"application/json", "*/*", askTable, askTable, askOldTable, askMetadata, askMetadataList,
			askTable + "," + askOldTable + ",application/json", "application/yaml",
			"application/json;pretty=1", askMetadataList + ",application/json", askDiscovery + ",application/json",
			askProtobuf, askProtobuf, askProtobuf, askProtobuf, askEither, askEither, askEither,
			"application/json," + askProtobuf, askMetadataPB, askMetaListPB, askBothMetaPB,
			askOldMetaPB, askOldListPB, askBothMetaPB + "," + askMetadata + "," + askMetadataList + ",application/json",
			askTable + "," + askProtobuf,
			askProtobuf + ";as=Table;v=v1;g=meta.k8s.io," + askEither,
		},
		odd: []string{
			"text/html", "application/*", "*", "*/*;q=0", "application/json;q=0.1, application/yaml", "application/cbor",
			"application/json;charset=utf-8",
			"application/json;stream=watch", "application/json;as=Table", "application/json;as=Foo;v=v1;g=meta.k8s.io", ",,,",
			"json", "",
			askProtobuf + ";stream=watch", askProtobuf + ";q=0.5,application/json;q=0.6",
			askProtobuf + ";as=Foo;v=v1;g=meta.k8s.io", "application/vnd.kubernetes.*",
			"application/yaml;as=Table;v=v1;g=meta.k8s.io", askProtobuf + ";as=Table;v=v1;g=meta.k8s.io",
			"application/json;as=Table;v=v2;g=meta.k8s.io",
		},
	}},
	{"Accept-Encoding", 35, choices{
		[]string{"gzip", "gzip", "identity", "gzip, deflate", "br"},
		[]string{"GZIP", "gzip;q=0", "gzip;q=1.0", "identity;q=1, gzip", "deflate;q=0.5 , gzip ", "*", ""},
	}},
	{"User-Agent", 8, choices{good: []string{"curl/8.5.0", "Mozilla/5.0 (X11)", "kubectl/v1.37.1", "Wget/1.21", "curly",
		"Mozilla/4.0"}}},
}

var watchHeaders = []parameter{
	{"Accept", 85, choices{
		good: []string{
			"application/json", "*/*", "application/json;stream=watch", askTable, askOldTable, askMetadata,
			askTable + "," + askOldTable + ",application/json",
			askProtobuf, askProtobuf, askProtobuf + ";stream=watch", askEither, askEither, askMetadataPB, askOldMetaPB,
			askMetadataPB + "," + askMetadata + ",application/json", askTable + "," + askEither,
		},
		odd: []string{
			"application/yaml", "text/html", "application/cbor", askMetadataList, "application/json;as=Foo;v=v1;g=meta.k8s.io",
			"*", askMetaListPB,
			askProtobuf + ";as=Table;v=v1;g=meta.k8s.io", askProtobuf + ";stream=foo",
		},
	}},
	{"Accept-Encoding", 35, choices{[]string{"gzip", "identity"}, []string{"GZIP", "gzip;q=0"}}},
	{"User-Agent", 5, choices{good: []string{"curl/8.5.0"}}},
}
