package testkit

type scriptResource struct {
	resource, root string
	namespaced     bool
	fields         []string // selectors
	shared         bool     // other workloads also write it
}

var scriptResources = []scriptResource{
	{resource: "configmaps", root: "/api/v1", namespaced: true, shared: true},
	{resource: "pods", root: "/api/v1", namespaced: true, shared: true, fields: []string{
		"spec.nodeName=n1", "spec.nodeName=", "spec.nodeName!=n1", "status.phase=Running", "status.phase!=Pending",
		"spec.nodeName=n1,status.phase=Running",
		"spec.nodeName=n2,metadata.name=o1",
	}},
	{resource: "events", root: "/api/v1", namespaced: true, shared: true, fields: []string{
		"type=Warning", "type!=Warning", "reason=r1", "involvedObject.name=x1,type=Warning",
	}},
	{resource: "gadgets", root: "/apis/{group}/v1", namespaced: true,
		fields: []string{"spec.value=1", "spec.value!=1", "spec.value=2,metadata.name!=o1"}},
	{resource: "gadgets", root: "/apis/{group}/v1", namespaced: true, fields: []string{"spec.value=1", "spec.value=0"}},
	{resource: "rings", root: "/apis/{group}/v1"},
	{resource: "nodes", root: "/api/v1", shared: true,
		fields: []string{"spec.unschedulable=true", "spec.unschedulable=false"}},
	{resource: "namespaces", root: "/api/v1", shared: true,
		fields: []string{"status.phase=Active", "status.phase=Terminating", "status.phase!=Active"}},
}

// custom reports whether the resource has a definition, which may change.
func (r scriptResource) custom() bool { return r.root != "/api/v1" }

var (
	scriptNames  = []string{"o1", "o2", "o3", "o4", "o-5"}
	scriptNodes  = []string{"n1", "n2"}
	scriptLabels = []string{"t=a", "t=a", "t=b", "t=a,u=1", "u=1", "-"}
	scriptValues = []string{"0", "1", "2"}
	// scriptActions are the actions on objects, repeated by their frequency.
	scriptActions = []Action{Put, Put, Put, Put, Put, Put, Put, Put, Put, Delete, Delete, Delete, Hold, Release, Clear,
		Bind}
	redefinedParts   = []string{"columns", "fields", "versions", "note"}
	scriptSelections = []string{"t=a", "t!=a", "t in (a,b)", "!t", "u", "u,t=a", "t=none", "t notin (b)"}
	scriptAccepts    = []string{
		"application/json", "application/json", "*/*", "application/json;stream=watch", askTable, askTable, askTable,
		askOldTable, askMetadata, askMetadata,
		askOldMetadata, askTable + "," + askOldTable + ",application/json",
		askProtobuf, askProtobuf, askProtobuf, askProtobuf + ";stream=watch", askEither, askEither, askEither, askEither,
		askMetadataPB, askMetadataPB, askOldMetaPB,
		askMetadataPB + "," + askMetadata + ",application/json",
	}
	scriptObjectAccepts = []string{
		askTable, askTable, askTable, askOldTable, askMetadata, askMetadata, askOldMetadata,
		askTable + "," + askOldTable + ",application/json",
		askProtobuf, askProtobuf, askProtobuf, askEither, askEither, askMetadataPB, askMetadataPB, askOldMetaPB,
	}
	scriptListAccepts = []string{
		"application/json", askTable, askMetadataList, "application/yaml", askProtobuf, askEither, askMetaListPB,
		askOldListPB,
	}
)

// scriptStarts are the starts of watches. The initial events of a watch from version 0 are the same at both servers,
// because the runner waits until both caches have the last write.
var scriptStarts = []string{
	"", "", "resourceVersion=0", "resourceVersion=", "resourceVersion={version:0}", "resourceVersion={version:1}",
	"resourceVersion={version:3}",
	"resourceVersion={version:8}", "resourceVersion={version:20}", "resourceVersion={version:+4}",
	"resourceVersion=9999999999", longAgo,
	initialEvents, initialEvents, initialEvents + "&resourceVersion=0", initialEvents + "&resourceVersion={version:0}",
	initialEvents + "&resourceVersion={version:5}",
	noInitialEvents, noInitialEvents + "&resourceVersion=0", noInitialEvents + "&resourceVersion={version:2}",
}

const (
	longAgo         = "resourceVersion=1"
	initialEvents   = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
	noInitialEvents = "sendInitialEvents=false&resourceVersionMatch=NotOlderThan"
)

var scriptAges = []string{
	"", "", "", "resourceVersion=0", "resourceVersion={version:0}",
	"resourceVersion={version:2}&resourceVersionMatch=Exact",
	"resourceVersion={version:0}&resourceVersionMatch=NotOlderThan&limit=2", "resourceVersion={version:4}&limit=1",
	"limit=2",
}
