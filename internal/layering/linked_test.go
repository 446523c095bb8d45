package layering

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// heavy are packages that bring in large libraries of which a facade would use little. Each enlarges the program by a
// tenth or more, which stays in memory while it runs (docs/adr/0025-small-libraries.md).
var heavy = []string{
	"k8s.io/client-go/kubernetes", "k8s.io/client-go/kubernetes/scheme", "k8s.io/client-go/discovery", "k8s.io/client-go/informers",
	"k8s.io/api/core/v1", "k8s.io/kube-openapi/pkg/validation/spec", "github.com/google/gnostic-models/openapiv2",
	"github.com/emicklei/go-restful/v3",
}

// The program does not import heavy packages. On failure the test names the importing package.
func TestProgramIsSmall(t *testing.T) {
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./cmd/listfacade")
	list.Dir = "../.."
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	linked := 0
	for line := range strings.Lines(string(out)) {
		linked++
		imports := strings.Fields(line)
		for _, path := range imports[1:] {
			if slices.Contains(heavy, path) {
				t.Errorf("%s imports %s", imports[0], path)
			}
		}
	}
	if linked < 100 {
		t.Errorf("got %d packages from go list, want at least 100", linked)
	}
}
