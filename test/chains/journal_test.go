package chains

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// recording configures a facade that writes a journal of config maps and gadgets to a directory, and serves at an
// address.
func recording(t *testing.T, dir, address string) func(*facade.Config) {
	listen := at(t, address)
	return func(c *facade.Config) {
		listen(c)
		c.JournalDir = dir
		c.Preload, c.PreloadEncodings = []string{"configmaps", gadgets}, []string{"json", "protobuf"}
	}
}

// listening counts the lists that a facade receives, also streaming lists.
type listening struct{ lists atomic.Int64 }

// around returns a handler that counts lists.
func (l *listening) around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		collection := strings.HasSuffix(r.URL.Path, "/configmaps") || strings.HasSuffix(r.URL.Path, "/gadgets")
		if collection && (query.Get("watch") == "" || query.Get("sendInitialEvents") == "true") {
			l.lists.Add(1)
		}
		next.ServeHTTP(w, r)
	})
}

// launch starts a facade and counts its lists.
func (l *listening) launch(t *testing.T, kubeconfig string, settings ...func(*facade.Config)) *suite.Facade {
	t.Helper()
	f := suite.NewFacade(t, kubeconfig, settings...)
	f.Wrap(l.around)
	f.Listen(t)
	f.AwaitReady(t)
	return f
}

// watchers returns informers of config maps and gadgets, in JSON and in protobuf.
func watchers(t *testing.T, s *suite.Fixture, f *suite.Facade, each int) map[schema.GroupVersionResource][]toolscache.SharedIndexInformer {
	t.Helper()
	all := map[schema.GroupVersionResource][]toolscache.SharedIndexInformer{}
	config := *f.Config
	config.CAFile, config.Insecure = "", true // the next process has another certificate
	for range each {
		clients := suite.NewClients(t, &config)
		dynamic := dynamicinformer.NewFilteredDynamicSharedInformerFactory(clients.Dynamic, 0, s.Namespace, nil)
		typed := informers.NewSharedInformerFactoryWithOptions(clients.Typed, 0, informers.WithNamespace(s.Namespace))
		all[suite.ConfigMaps] = append(all[suite.ConfigMaps], dynamic.ForResource(suite.ConfigMaps).Informer(), typed.Core().V1().ConfigMaps().Informer())
		all[suite.Gadgets] = append(all[suite.Gadgets], dynamic.ForResource(suite.Gadgets).Informer())
	}
	for _, informers := range all {
		for _, informer := range informers {
			suite.StartInformer(t, informer)
		}
	}
	return all
}

// changes writes, changes and deletes objects.
func changes(t *testing.T, s *suite.Fixture, round int) {
	t.Helper()
	for _, gvr := range []schema.GroupVersionResource{suite.ConfigMaps, suite.Gadgets} {
		s.Put(t, gvr, "changed", "t=a", fmt.Sprint(round))
		s.Put(t, gvr, fmt.Sprintf("added-%d", round), "t=a", "1")
		s.Put(t, gvr, "gone", "t=a", "1")
		s.Remove(t, gvr, "gone")
	}
}

// A facade that is started again resumes from the journal of the previous process, whether that ended in order or was
// killed. Its clients resume their watches without a list, and receive all changes.
func TestJournalResumes(t *testing.T) {
	s := suite.NewFixture(t, suite.Cluster(t))
	s.DefineGadgets(t)
	dir, address := filepath.Join(t.TempDir(), "journal"), suite.FreeAddress(t)
	tally := suite.NewTally(t, suite.Cluster(t))
	changes(t, s, 0)
	var count listening
	f := count.launch(t, tally.Kubeconfig, recording(t, dir, address))
	all := watchers(t, s, f, 10)
	for round, killed := range []bool{false, true} {
		changes(t, s, 10*round)
		converge(t, s, all)
		lists := count.lists.Load()
		awaitSegments(t, dir, 3)
		if killed { // the next process finds the files of a process that did not end
			crashed := filepath.Join(t.TempDir(), "crashed")
			if err := os.CopyFS(crashed, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			private(t, crashed)
			dir = crashed
		}
		f.Close(t)
		before := map[suite.Asked]int{}
		whats := []suite.Asked{
			{Way: suite.List, Resource: "configmaps"}, {Way: suite.List, Resource: "configmaps", Protobuf: true}, {Way: suite.List, Resource: gadgets},
		}
		for _, what := range whats {
			before[what] = tally.Asked(what)
		}
		changes(t, s, 10*round+1)
		f = count.launch(t, tally.Kubeconfig, recording(t, dir, address))
		if got := fills(t, f, "journal"); got != "3" {
			t.Fatalf("%s lanes resumed from the journal, want 3: %v", got, f.Logs.All())
		}
		changes(t, s, 10*round+2)
		converge(t, s, all)
		if now := count.lists.Load(); now != lists {
			t.Errorf("clients sent %d lists after restart %d, want 0", now-lists, round)
		}
		for what, n := range before {
			if now := tally.Asked(what); now != n {
				t.Errorf("%s: %d lists at kube-apiserver, want 0", what, now-n)
			}
		}
	}
	s.Put(t, suite.ConfigMaps, "c0", "t=a", "1")
	answersAll(t, s, f)
}

// segments returns the files of a journal.
func segments(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "lanes", "*", "[^.]*.segment"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// awaitSegments waits until a journal has files of that many lanes, because they are written after the lanes are
// filled.
func awaitSegments(t *testing.T, dir string, lanes int) {
	t.Helper()
	testkit.Eventually(t, "the lanes are in the journal", func() error {
		if n := len(segments(t, dir)); n < lanes {
			return fmt.Errorf("got %d files, want %d", n, lanes)
		}
		return nil
	})
}

// private makes the files of a copy readable for their owner only, as a journal requires.
func private(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return os.Chmod(path, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func converge(t *testing.T, s *suite.Fixture, all map[schema.GroupVersionResource][]toolscache.SharedIndexInformer) {
	t.Helper()
	for gvr, informers := range all {
		for _, informer := range informers {
			s.Converges(t, gvr, informer)
		}
	}
}

// A facade ignores a journal that is broken, belongs to another lane, is writable by others, or is of another format.
// It logs the reason, and lists.
func TestInvalidJournalsAreIgnored(t *testing.T) {
	settings.Long(t)
	s := suite.NewFixture(t, suite.Cluster(t))
	s.DefineGadgets(t)
	changes(t, s, 0)
	dir := t.TempDir()
	kubeconfig := suite.FacadeKubeconfig(t, suite.Cluster(t))
	var count listening
	first := count.launch(t, kubeconfig, recording(t, dir, suite.FreeAddress(t)))
	awaitSegments(t, dir, 3)
	first.Close(t)
	whole := map[string][]byte{}
	for _, file := range segments(t, dir) {
		content, err := os.ReadFile(file) //nolint:gosec // of this test
		if err != nil {
			t.Fatal(err)
		}
		whole[filepath.Base(filepath.Dir(file))] = content
	}
	if len(whole) != 3 {
		t.Fatalf("got %d lanes, want 3", len(whole))
	}
	const name = "configmaps..v1.json"
	for _, test := range []struct {
		name, want string
		content    []byte
		mode       os.FileMode
	}{
		{name: "cut in the checkpoint", content: whole[name][:len(whole[name])/2], want: "damaged"},
		{name: "a byte changed", content: changedAt(whole[name], len(whole[name])/2), want: "damaged"},
		{name: "of another format", content: bytes.Replace(whole[name], []byte("journal 1"), []byte("journal 2"), 1), want: "another version of the format"},
		{name: "nothing", content: []byte{}, want: "damaged"},
		{name: "of another lane", content: whole["configmaps..v1.protobuf"], want: "does not match the upstream"},
		{name: "others may write it", content: whole[name], mode: 0o666, want: "users other than its owner"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			lane := filepath.Join(dir, "lanes", name)
			if err := os.MkdirAll(lane, 0o700); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(lane, "0000000001.segment")
			if err := os.WriteFile(file, test.content, 0o600); err != nil {
				t.Fatal(err)
			}
			if test.mode != 0 {
				if err := os.Chmod(file, test.mode); err != nil {
					t.Fatal(err)
				}
			}
			f := count.launch(t, kubeconfig, recording(t, dir, suite.FreeAddress(t)))
			if got := fills(t, f, "journal"); got != "0" {
				t.Errorf("%s lanes resumed from the journal, want 0", got)
			}
			said := f.Logs.FilterMessage("Journal of the lane not used").All()
			if len(said) != 1 || !strings.Contains(fmt.Sprint(said[0].ContextMap()["error"]), test.want) {
				t.Errorf("the log has %v, want %s", said, test.want)
			}
			s.Put(t, suite.ConfigMaps, "c0", "t=a", "1")
			answersAll(t, s, f)
		})
	}
}

// changedAt returns a copy with another byte at an index.
func changedAt(content []byte, at int) []byte {
	changed := bytes.Clone(content)
	changed[at] ^= 1
	return changed
}
