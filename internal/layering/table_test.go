package layering

// module is the path of the main module; rooms are directories below it.
const module = "github.com/listfacade/listfacade"

// room is a directory, with all below it that have no room of their own, and what its code may import. Test files may
// import any package of ours.
type room struct {
	dir string
	// ours lists the rooms whose packages it may import besides its own; "*" is all of them.
	ours []string
	// external, if not nil, lists the only import path prefixes beyond the standard library that it may use.
	external []string
	// never lists import path prefixes that it must not use, standard library included.
	never []string
}

// pure is what the core knows nothing about: it returns errors and values, and lets others talk, log and count.
var pure = []string{"net/http", "github.com/go-chi/chi", "go.uber.org/zap", "k8s.io/client-go", "k8s.io/api", "github.com/prometheus"}

// noServers is what bytes are understood without.
var noServers = []string{"net/http", "k8s.io/api", "k8s.io/client-go"}

var apimachineryOnly = []string{"k8s.io/apimachinery"}

// rooms is the house. A Go package outside of all rooms breaks the rules.
var rooms = []room{
	{dir: "cmd", ours: []string{"internal/facade", "internal/top", "internal/verify", "internal/zpages"}},
	{dir: "internal/facade", ours: []string{"*"}},
	{dir: "handlers", ours: []string{"cache", "selectors", "bookmarks", "internal"}},
	// wire: only the leaf types that say what bytes the upstream sent.
	{dir: "cache", ours: []string{"selectors", "bookmarks", "internal/wire"}, never: pure},
	{dir: "selectors", external: apimachineryOnly, never: pure},
	// scan: a bookmark of the upstream's is looked at as it was sent.
	{dir: "bookmarks", ours: []string{"internal/wire/scan"}, external: apimachineryOnly, never: pure},
	// limit: callers take turns for documents.
	{dir: "internal/upstream", ours: []string{"internal/wire", "internal/discovery", "internal/serviceaccount", "internal/limit"}},
	// selectors: a lane scans its kind's selectable fields; fresh: it tells the proofs what happens to a lane
	// (docs/adr/0007-who-learns-a-kind.md).
	{dir: "internal/reflector", ours: []string{"internal/upstream", "internal/fresh", "internal/wire", "internal/divergence", "internal/snapshot", "cache", "selectors"}},
	// It writes what it is given.
	{dir: "internal/snapshot", never: pure},
	// It is told what both sides have.
	{dir: "internal/divergence", never: pure},
	// What it needs of an upstream and of a lane it declares, so that proofs are tried out without either.
	{dir: "internal/fresh", ours: []string{"cache"}, never: pure},
	// No net/http: wire writes to an io.Writer, whoever that is.
	{dir: "internal/wire", never: noServers},
	{dir: "internal/wire/internal/item", never: noServers},
	{dir: "internal/wire/scan", never: noServers},
	{dir: "internal/wire/table", ours: []string{"internal/wire/scan"}, never: noServers},
	// bookmarks: an encoding makes the items of which bookmarks are written.
	{dir: "internal/wire/jsonwire", ours: []string{"internal/wire", "bookmarks"}, never: noServers},
	{dir: "internal/wire/protowire", ours: []string{"internal/wire"}, never: noServers},
	// It is told bytes and sends them, whatever they mean.
	{dir: "internal/frames", external: []string{"golang.org/x/net/http2"}},
	// limit: sources of tokens take turns as callers do.
	{dir: "internal/auth", ours: []string{"internal/serviceaccount", "internal/limit"}},
	// Whom it tells it declares, so that it knows nothing of decisions.
	{dir: "internal/rbac", ours: []string{"internal/serviceaccount"}},
	// How a server is asked it is told.
	{dir: "internal/discovery", never: []string{"net/http", "k8s.io/client-go"}},
	{dir: "internal/serviceaccount", external: apimachineryOnly, never: pure},
	{dir: "internal/limit"},
	// What takes memory tells it how much, and lets go of it: it knows none of them.
	{dir: "internal/budget", never: pure},
	{dir: "internal/observe"},
	// It is a sink of Events.
	{dir: "internal/accounting", ours: []string{"internal/observe"}, never: pure},
	// It judges and draws what it is given.
	{dir: "internal/page", ours: []string{"internal/observe", "internal/accounting"}, never: pure},
	{dir: "internal/zpages", never: []string{"net/http"}},
	// A client of a facade, which it shares the answer's form with.
	{dir: "internal/top", ours: []string{"internal/accounting"}},
	// A client of a facade and of its upstream.
	{dir: "internal/verify", ours: []string{"internal/divergence", "internal/discovery"}},
	{dir: "internal/audit", ours: []string{"internal/observe"}},
	{dir: "internal/testkit", ours: []string{"*"}},
	{dir: "internal/layering"},
	// Suites on a real cluster: test files, and a doc.go that says what they ask.
	{dir: "test", external: []string{}},
	{dir: "internal/references"},
	// A command that writes a file for another program.
	{dir: "deploy", external: []string{}},
	// Both servers are asked over HTTP, so the benchmarks need nothing of ours but a cluster.
	{dir: "bench", ours: []string{"internal/testkit"}},
}

// confined lists import path prefixes that only some rooms may use; nil means none. Test files are free.
var confined = []struct {
	prefix string
	to     []string
}{
	{"go.uber.org/zap", []string{
		"internal/facade", "handlers", "internal/reflector", "internal/auth", "internal/rbac", "internal/limit", "internal/observe", "internal/audit", "internal/testkit",
	}},
	{"k8s.io/client-go", []string{
		"internal/facade", "internal/upstream", "internal/auth", "internal/rbac", "internal/top", "internal/verify", "internal/testkit", "bench",
	}},
	// Whoever cannot import it cannot register a metric either.
	{"github.com/prometheus", []string{"internal/observe"}},
	{"github.com/go-chi/chi", []string{"handlers"}},
	{"github.com/google/go-cmp", []string{"internal/testkit"}},
	{"go.uber.org/goleak", []string{"internal/testkit"}},
	{"github.com/rogpeppe/go-internal", []string{"internal/testkit"}},
	// Who else would name an encoding would know what an object looks like.
	{module + "/internal/wire/jsonwire", []string{"internal/wire/jsonwire", "internal/upstream", "internal/reflector", "internal/facade", "handlers"}},
	{module + "/internal/wire/protowire", []string{"internal/wire/protowire", "internal/facade", "handlers"}},
	{module + "/internal/wire/table", []string{"internal/wire"}},
	// bench is test equipment, too.
	{module + "/internal/testkit", []string{"internal/testkit", "bench"}},
	// Too heavy for a facade that stores bytes and delegates every decision.
	{"k8s.io/kubernetes", nil},
	{"google.golang.org/grpc", nil},
	{"github.com/google/cel-go", nil},
	{"go.etcd.io", nil},
}

// otherModules are directories with modules of their own; they and the main module meet over HTTP only, tests included.
var otherModules = []string{"devcluster", "test/clients"}

// statusFiles are the only places where a metav1.Status is written down, so that every error text has one home: that of
// answers, and that of what the audit log says of answers.
var statusFiles = []string{"handlers/errors.go", "internal/audit/status.go"}

// vague are names that say nothing about what a package holds.
var vague = []string{"util", "utils", "common", "misc", "types", "helpers", "shared", "base"}
