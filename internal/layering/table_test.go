package layering

// module is the path of the main module. Layers are directories in it.
const module = "github.com/listfacade/listfacade"

// layer is a directory with all subdirectories that are not layers themselves, and the rules for its imports. Test
// files may import any package of this module.
type layer struct {
	dir string
	// ours lists the other layers that it may import; "*" means all.
	ours []string
	// external, if not nil, lists the import path prefixes that it may use in addition to the standard library.
	external []string
	// never lists import path prefixes that it must not use, including the standard library.
	never []string
}

// pure lists packages that the core must not import. It returns errors and values, and does not send, log or count.
var pure = []string{"net/http", "github.com/go-chi/chi", "go.uber.org/zap", "k8s.io/client-go", "k8s.io/api", "github.com/prometheus"}

// noServers lists packages that encodings must not import.
var noServers = []string{"net/http", "k8s.io/api", "k8s.io/client-go"}

var apimachineryOnly = []string{"k8s.io/apimachinery"}

// layers is the table of layers. A Go package outside of all layers is a breach.
var layers = []layer{
	// observe: printable errors.
	{dir: "cmd", ours: []string{"internal/facade", "internal/observe", "internal/split", "internal/top", "internal/verify", "internal/assess", "internal/replay", "internal/timeline", "internal/zpages"}},
	{dir: "internal/facade", ours: []string{"*"}},
	{dir: "handlers", ours: []string{"cache", "selectors", "bookmarks", "internal"}},
	// wire: only the types for the bytes that the upstream sent.
	{dir: "cache", ours: []string{"selectors", "bookmarks", "internal/wire"}, never: pure},
	{dir: "selectors", external: apimachineryOnly, never: pure},
	// scan: bookmarks are read from the bytes that the upstream sent.
	{dir: "bookmarks", ours: []string{"internal/wire/scan"}, external: apimachineryOnly, never: pure},
	// limit: documents are queued per caller.
	{dir: "internal/upstream", ours: []string{"internal/wire", "internal/discovery", "internal/serviceaccount", "internal/limit"}},
	// selectors: a lane scans the selectable fields of its kind. fresh: the reflector reports changes of a lane to
	// freshness checks (docs/adr/0007-reflector-imports.md).
	{dir: "internal/reflector", ours: []string{"internal/upstream", "internal/fresh", "internal/wire", "internal/divergence", "internal/journal", "cache", "selectors"}},
	// The caller passes all data.
	{dir: "internal/journal", never: pure},
	// The caller passes the objects of both sides.
	{dir: "internal/divergence", never: pure},
	// It declares interfaces for the upstream and the lane, so that freshness checks are tested without them.
	{dir: "internal/fresh", ours: []string{"cache"}, never: pure},
	// Without net/http: wire writes to any io.Writer.
	{dir: "internal/wire", never: noServers},
	{dir: "internal/wire/internal/item", never: noServers},
	{dir: "internal/wire/scan", never: noServers},
	{dir: "internal/wire/table", ours: []string{"internal/wire/scan"}, never: noServers},
	// bookmarks: encodings make the items of bookmarks.
	{dir: "internal/wire/jsonwire", ours: []string{"internal/wire", "bookmarks"}, never: noServers},
	{dir: "internal/wire/protowire", ours: []string{"internal/wire"}, never: noServers},
	// It does not interpret the bytes that it sends.
	{dir: "internal/frames", external: []string{"golang.org/x/net/http2"}},
	// limit: sources of tokens are queued like callers.
	{dir: "internal/auth", ours: []string{"internal/serviceaccount", "internal/limit"}},
	// It declares an interface for its subscribers, and does not depend on authorization decisions.
	{dir: "internal/rbac", ours: []string{"internal/serviceaccount"}},
	// The caller passes the function that sends requests.
	{dir: "internal/discovery", never: []string{"net/http", "k8s.io/client-go"}},
	// go-jose: tokens are read and verified with the library that kube-apiserver uses.
	{dir: "internal/serviceaccount", external: []string{"k8s.io/apimachinery", "gopkg.in/go-jose/go-jose.v2"}, never: pure},
	{dir: "internal/limit"},
	// Its users report their memory and release it. It imports none of them.
	{dir: "internal/budget", never: pure},
	{dir: "internal/observe", never: []string{"go.uber.org/zap"}},
	// It receives Events.
	{dir: "internal/metrics", ours: []string{"internal/observe", "internal/price"}},
	// It receives Events.
	{dir: "internal/oplog", ours: []string{"internal/observe"}},
	// It receives Events.
	{dir: "internal/accounting", ours: []string{"internal/observe"}, never: pure},
	// It evaluates and renders the data that the caller passes.
	{dir: "internal/page", ours: []string{"internal/observe", "internal/metrics", "internal/oplog", "internal/accounting"}, never: pure},
	{dir: "internal/zpages", never: []string{"net/http"}},
	// A client of a facade. accounting: the format of the response.
	{dir: "internal/top", ours: []string{"internal/accounting"}},
	// A client of a facade and of its upstream.
	{dir: "internal/verify", ours: []string{"internal/divergence", "internal/discovery"}},
	// A server of its own. auth: the source of a request. facade: certificate, listener and log. handlers: the format of
	// a Status. upstream: the names in Via, which detect loops.
	{dir: "internal/split", ours: []string{"handlers", "internal/auth", "internal/facade", "internal/frames", "internal/limit", "internal/metrics", "internal/oplog", "internal/upstream"}},
	// A server of its own that reads a journal instead of a kube-apiserver. facade: encodings and log.
	{dir: "internal/replay", ours: []string{
		"cache", "handlers", "selectors", "internal/auth", "internal/discovery", "internal/facade", "internal/fresh", "internal/journal", "internal/observe",
		"internal/oplog", "internal/reflector", "internal/transcode", "internal/upstream", "internal/wire",
	}},
	// It reads files only. observe: tables and printable texts.
	{dir: "internal/timeline", ours: []string{
		"internal/discovery", "internal/journal", "internal/observe", "internal/transcode", "internal/wire",
	}, never: []string{"net/http", "k8s.io/client-go"}},
	// Pure functions of numbers.
	{dir: "internal/price", external: []string{}, never: pure},
	// A client of kube-apiserver. observe: tables and printable texts.
	{dir: "internal/assess", ours: []string{"internal/price", "internal/observe", "internal/wire/scan"}},
	// protowire: the wire format of protobuf without its types.
	{dir: "internal/transcode", external: []string{"k8s.io/apimachinery", "google.golang.org/protobuf/encoding/protowire"}, never: pure},
	{dir: "internal/audit", ours: []string{"internal/observe", "internal/oplog"}},
	{dir: "internal/testkit", ours: []string{"*"}},
	{dir: "internal/layering"},
	// Suites that need a real cluster: test files, and a doc.go with their purpose.
	{dir: "test", external: []string{}},
	{dir: "internal/references"},
	// A command that writes a file for another program.
	{dir: "deploy", external: []string{}},
	// Benchmarks use both servers over HTTP, and need only a cluster from this module. price: predictions are compared
	// with measurements.
	{dir: "bench", ours: []string{"internal/testkit", "internal/price"}},
}

// confined lists import path prefixes that only some layers may use; nil means none. Test files are exempt.
var confined = []struct {
	prefix string
	to     []string
}{
	{"go.uber.org/zap", []string{
		"internal/facade", "handlers", "internal/reflector", "internal/auth", "internal/rbac", "internal/limit", "internal/oplog", "internal/audit", "internal/split",
		"internal/replay", "internal/testkit",
	}},
	{"k8s.io/client-go", []string{
		"internal/facade", "internal/upstream", "internal/auth", "internal/rbac", "internal/top", "internal/verify", "internal/assess", "internal/replay", "internal/testkit",
		"bench",
	}},
	// A package that cannot import it cannot register metrics.
	{"github.com/prometheus", []string{"internal/metrics"}},
	{"github.com/go-chi/chi", []string{"handlers"}},
	// One package decides about signatures.
	{"gopkg.in/go-jose", []string{"internal/serviceaccount"}},
	{"github.com/google/go-cmp", []string{"internal/testkit"}},
	{"go.uber.org/goleak", []string{"internal/testkit"}},
	// diff: texts are compared in linear time. The other packages are for tests.
	{"github.com/rogpeppe/go-internal", []string{"internal/timeline", "internal/testkit"}},
	// For the kubelet of tests.
	{"k8s.io/streaming", []string{"internal/testkit"}},
	// Other packages must not depend on an encoding.
	{module + "/internal/wire/jsonwire", []string{"internal/wire/jsonwire", "internal/upstream", "internal/reflector", "internal/facade", "internal/timeline"}},
	{module + "/internal/wire/protowire", []string{"internal/wire/protowire", "internal/facade", "internal/timeline"}},
	{module + "/internal/wire/table", []string{"internal/wire"}},
	// bench is test code, too.
	{module + "/internal/testkit", []string{"internal/testkit", "bench"}},
	// Too large for a facade that stores bytes and delegates every decision.
	{"k8s.io/kubernetes", nil},
	{"google.golang.org/grpc", nil},
	{"github.com/google/cel-go", nil},
	{"go.etcd.io", nil},
}

// otherModules are directories with other modules. Neither they nor the main module may import the other, including
// tests.
var otherModules = []string{"client", "devcluster", "test/clients", "test/deploy/chart", "deploy/release"}

// statusFiles are the only files that may create a metav1.Status: one for the error texts of responses, one for those
// of the audit log.
var statusFiles = []string{"handlers/errors.go", "internal/audit/status.go"}

// vague are names that do not describe a package.
var vague = []string{"util", "utils", "common", "misc", "types", "helpers", "shared", "base"}
