package layering

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// The real tree obeys the rules.
func TestTreeObeysRules(t *testing.T) {
	root := filepath.Join("..", "..")
	goMod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(goMod), "module "+module+"\n") {
		t.Fatalf("%s is not the root of %s", root, module)
	}
	breaches, err := check(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	for _, breach := range breaches {
		t.Error(breach)
	}
}

// Each case adds one breach to a tree that obeys the rules.
func TestCheckFindsEachBreach(t *testing.T) {
	const status = `"k8s.io/apimachinery/pkg/apis/meta/v1"`
	tests := []struct{ name, path, text, want string }{
		{"cache imports net/http", "cache/a.go", `import "net/http"`, "cache/a.go:2: imports net/http: cache must not import it"},
		{"cache logs", "cache/a.go", `import "go.uber.org/zap/zapcore"`, "cache/a.go:2: imports go.uber.org/zap/zapcore"},
		{"cache counts", "cache/a.go", `import "github.com/prometheus/client_golang/prometheus"`, "cache/a.go:2: imports github.com/prometheus"},
		{"cache imports handlers", "cache/a.go", `import "` + module + `/handlers"`, "cache/a.go:2: imports " + module + "/handlers: cache may import"},
		{"selectors imports a library", "selectors/a.go", `import "golang.org/x/sync/errgroup"`, "selectors may use [k8s.io/apimachinery] only"},
		{"selectors imports cache", "selectors/a.go", `import "` + module + `/cache"`, "selectors may import [] of this module"},
		{"bookmarks imports selectors", "bookmarks/a.go", `import "` + module + `/selectors"`, "bookmarks may import [internal/wire/scan] of this module"},
		{"wire imports cache", "internal/wire/a.go", `import "` + module + `/cache"`, "internal/wire may import [] of this module"},
		{"wire writes responses", "internal/wire/a.go", `import "net/http"`, "internal/wire must not import it"},
		{"wire logs", "internal/wire/a.go", `import "go.uber.org/zap"`, "internal/wire/a.go:2: imports go.uber.org/zap: only"},
		{"upstream imports cache", "internal/upstream/a.go", `import "` + module + `/cache"`, "internal/upstream may import [internal/wire internal/discovery internal/serviceaccount internal/limit] of this module"},
		{"reflector imports handlers", "internal/reflector/a.go", `import "` + module + `/handlers"`, "internal/reflector may import"},
		{"fresh imports reflector", "internal/fresh/a.go", `import "` + module + `/internal/reflector"`, "internal/fresh may import [cache] of this module"},
		{"fresh imports net/http", "internal/fresh/a.go", `import "net/http"`, "internal/fresh must not import it"},
		{"auth imports rbac", "internal/auth/a.go", `import "` + module + `/internal/rbac"`, "internal/auth may import [internal/serviceaccount internal/limit] of this module"},
		{"a subdirectory of a layer", "internal/wire/deep/a.go", `import "` + module + `/cache"`, "internal/wire may import [] of this module"},
		{"handlers register metrics", "handlers/a.go", `import "github.com/prometheus/client_golang/prometheus"`, "only [internal/metrics] and tests may"},
		{"handlers use client-go", "handlers/a.go", `import "k8s.io/client-go/rest"`, "handlers/a.go:2: imports k8s.io/client-go/rest: only"},
		{"testkit in production", "cmd/listfacade/a.go", `import "` + module + `/internal/testkit"`, "cmd/listfacade/a.go:2: imports " + module + "/internal/testkit: only [internal/testkit bench] and tests may"},
		{"a test library in production", "handlers/a.go", `import "github.com/google/go-cmp/cmp"`, "only [internal/testkit] and tests may"},
		{"kubernetes itself", "cmd/listfacade/a.go", `import "k8s.io/kubernetes/pkg/apis/core"`, "only [] and tests may"},
		{"a suite that is no test", "test/watches/a.go", `import "` + module + `/internal/facade"`, "test may import [] of this module"},
		{"a suite with a library", "test/watches/a.go", `import "golang.org/x/sync/errgroup"`, "test may use [] only"},
		{"the command imports handlers", "cmd/listfacade/a.go", `import "` + module + `/handlers"`, "cmd may import [internal/facade internal/observe internal/split internal/top internal/verify internal/assess internal/replay internal/timeline internal/zpages] of this module"},
		{"devcluster", "handlers/a.go", `import "` + module + `/devcluster"`, "it is another module"},
		{"devcluster in a test", "handlers/a_test.go", `import "` + module + `/devcluster/internal/pki"`, "it is another module"},
		{"a client in a test", "handlers/a_test.go", `import "` + module + `/test/clients/informer"`, "it is another module"},
		{"the client module in a test", "handlers/a_test.go", `import "` + module + `/client"`, "it is another module"},
		{"a client imports the main module", "test/clients/old/a.go", `import "` + module + `/cache"`, "test/clients/old/a.go:2: imports " + module + "/cache: it is another module"},
		{"devcluster imports the main module", "devcluster/a.go", `import "` + module + `/cache"`, "devcluster/a.go:2: imports " + module + "/cache: it is another module"},
		{"a Status elsewhere", "handlers/list.go", "import metav1 " + status + "\nvar s = &metav1.Status{}", "handlers/list.go:3: writes a metav1.Status"},
		{"a Status in a slice", "handlers/list.go", "import m " + status + "\nvar s = []any{m.Status{}}", "handlers/list.go:3: writes a metav1.Status"},
		{"no doc.go", "internal/limit/limit.go", "", "internal/limit: no doc.go with a package comment"},
		{"no layer", "pkg/a.go", "", "pkg: is not in the table of layers"},
		{"a vague name", "cache/util/a.go", "", "cache/util: the name does not describe the package"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tree := goodTree()
			tree[test.path] = file(test.text)
			breaches, err := check(tree)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(breaches, func(b string) bool { return strings.Contains(b, test.want) }) {
				t.Errorf("got %q, want one with %q", breaches, test.want)
			}
		})
	}
}

func TestCheckAcceptsAGoodTree(t *testing.T) {
	breaches, err := check(goodTree())
	if err != nil {
		t.Fatal(err)
	}
	if len(breaches) != 0 {
		t.Errorf("got %q, want none", breaches)
	}
}

func TestCheckReportsUnreadableFiles(t *testing.T) {
	tree := goodTree()
	tree["cache/broken.go"] = &fstest.MapFile{Data: []byte("package")}
	if _, err := check(tree); err == nil {
		t.Error("got no error for a file that is not Go")
	}
}

// goodTree returns a tree without breaches. It contains every dependency that looks forbidden but is allowed.
func goodTree() fstest.MapFS {
	return fstest.MapFS{
		"cmd/listfacade/main.go": documentedFile("main", `import "`+module+`/internal/facade"`),
		"internal/facade/doc.go": documentedFile("p",
			`import ("`+module+`/handlers"; "`+module+`/internal/observe"; "go.uber.org/zap"; "k8s.io/client-go/rest")`),
		"handlers/doc.go":          documentedFile("p", ""),
		"handlers/errors.go":       file(`import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"` + "\nvar s = metav1.Status{}"),
		"handlers/router.go":       file(`import ("net/http"; "github.com/go-chi/chi/v5"; "` + module + `/cache"; "` + module + `/internal/auth")`),
		"handlers/all_test.go":     file(`import ("` + module + `/internal/testkit"; "github.com/google/go-cmp/cmp"; "k8s.io/client-go/rest")`),
		"cache/doc.go":             documentedFile("p", `import ("`+module+`/selectors"; "`+module+`/internal/wire"; "sync/atomic")`),
		"cache/cache_test.go":      file(`import "net/http"`),
		"selectors/doc.go":         documentedFile("p", `import "k8s.io/apimachinery/pkg/labels"`),
		"bookmarks/doc.go":         documentedFile("p", ""),
		"internal/wire/doc.go":     documentedFile("p", `import "github.com/klauspost/compress/gzip"`),
		"internal/upstream/doc.go": documentedFile("p", `import ("`+module+`/internal/wire"; "k8s.io/client-go/rest"; "net/http")`),
		"internal/reflector/doc.go": documentedFile("p",
			`import ("`+module+`/cache"; "`+module+`/selectors"; "`+module+`/internal/upstream"; "`+module+`/internal/fresh"; "go.uber.org/zap")`),
		"internal/fresh/doc.go":        documentedFile("p", `import "`+module+`/cache"`),
		"internal/metrics/doc.go":      documentedFile("p", `import "github.com/prometheus/client_golang/prometheus"`),
		"internal/testkit/doc.go":      documentedFile("p", `import ("`+module+`/handlers"; "go.uber.org/goleak"; "`+module+`/internal/testkit/deep")`),
		"internal/testkit/deep/doc.go": documentedFile("p", ""),
		"bench/main.go":                documentedFile("main", `import ("`+module+`/internal/testkit"; "k8s.io/client-go/rest")`),
		"devcluster/cluster.go":        file(`import ("` + module + `/devcluster/internal/pki"; "k8s.io/client-go/rest")`),
		"test/watches/doc.go":          documentedFile("p", ""),
		"test/watches/all_test.go":     file(`import ("` + module + `/internal/testkit"; "go.uber.org/zap")`),
		"client/client.go":             file(`import "k8s.io/client-go/rest"`),
		"test/clients/old/main.go":     file(`import ("` + module + `/test/clients/informer"; "` + module + `/client")`),
		"cache/testdata/bad.go":        &fstest.MapFile{Data: []byte("not Go")},
		".hidden/bad.go":               &fstest.MapFile{Data: []byte("not Go")},
	}
}

func file(text string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte("package p\n" + text + "\n")}
}

func documentedFile(name, text string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte("// Package comment.\npackage " + name + "\n" + text + "\n")}
}
