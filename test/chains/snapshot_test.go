package chains

import (
	"bytes"
	"fmt"
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
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// leaving configures a facade that writes snapshots of config maps and gadgets to a directory, and serves at an
// address.
func leaving(t *testing.T, dir, address string) func(*facade.Config) {
	listen := at(t, address)
	return func(c *facade.Config) {
		listen(c)
		c.SnapshotDir = dir
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

// A facade that is started again resumes from the snapshots of the previous process. Its clients resume their watches
// without a list, and receive all changes.
func TestSnapshotResumes(t *testing.T) {
	s := suite.NewFixture(t, suite.Cluster(t))
	s.DefineGadgets(t)
	dir, address := filepath.Join(t.TempDir(), "snapshots"), suite.FreeAddress(t)
	tally := suite.NewTally(t, suite.Cluster(t))
	changes(t, s, 0)
	var count listening
	f := count.launch(t, tally.Kubeconfig, leaving(t, dir, address))
	all := watchers(t, s, f, 10)
	for round := 1; round <= 2; round++ {
		changes(t, s, 10*round)
		converge(t, s, all)
		lists := count.lists.Load()
		f.Close(t)
		before := map[suite.Asked]int{}
		whats := []suite.Asked{{Way: suite.List, Resource: "configmaps"}, {Way: suite.List, Resource: "configmaps", Protobuf: true}, {Way: suite.List, Resource: gadgets}}
		for _, what := range whats {
			before[what] = tally.Asked(what)
		}
		changes(t, s, 10*round+1)
		f = count.launch(t, tally.Kubeconfig, leaving(t, dir, address))
		if got := fills(t, f, "snapshot"); got != "3" {
			t.Fatalf("%s lanes resumed from a snapshot: %v", got, f.Logs.All())
		}
		changes(t, s, 10*round+2)
		converge(t, s, all)
		if now := count.lists.Load(); now != lists {
			t.Errorf("clients sent %d lists after restart %d, want 0", now-lists, round)
		}
		for what, n := range before {
			if now := tally.Asked(what); now != n {
				t.Errorf("%s: %d lists at kube-apiserver", what, now-n)
			}
		}
	}
	s.Put(t, suite.ConfigMaps, "c0", "t=a", "1")
	answersAll(t, s, f)
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 3 {
		t.Errorf("%v, %v", files, err)
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

// A facade ignores a snapshot that is broken, belongs to another lane, is writable by others, or is outdated. It logs
// the reason.
func TestInvalidSnapshotsAreIgnored(t *testing.T) {
	settings.Long(t)
	s := suite.NewFixture(t, suite.Cluster(t))
	s.DefineGadgets(t)
	changes(t, s, 0)
	dir := t.TempDir()
	kubeconfig := suite.FacadeKubeconfig(t, suite.Cluster(t))
	var count listening
	count.launch(t, kubeconfig, leaving(t, dir, suite.FreeAddress(t))).Close(t)
	whole := map[string][]byte{}
	files, _ := filepath.Glob(filepath.Join(dir, "*.snapshot"))
	for _, file := range files {
		content, err := os.ReadFile(file) //nolint:gosec // of this test
		if err != nil {
			t.Fatal(err)
		}
		whole[filepath.Base(file)] = content
	}
	if len(whole) != 3 {
		t.Fatalf("%v", files)
	}
	const name = "configmaps..v1.json.snapshot"
	for _, test := range []struct {
		name, want string
		content    []byte
		mode       os.FileMode
	}{
		{name: "a byte less", content: whole[name][:len(whole[name])-1], want: "incomplete or damaged"},
		{name: "a byte changed", content: changedAt(whole[name], len(whole[name])-60), want: "incomplete or damaged"},
		{name: "of another resource", content: bytes.Replace(whole[name], []byte("configmaps"), []byte("configmapz"), 1), want: "does not match the upstream"},
		{name: "nothing", content: []byte{}, want: "incomplete or damaged"},
		{name: "of another lane", content: whole["configmaps..v1.protobuf.snapshot"], want: "does not match the upstream"},
		{name: "others may write it", content: whole[name], mode: 0o666, want: "users other than its owner"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, name)
			if err := os.WriteFile(file, test.content, 0o600); err != nil {
				t.Fatal(err)
			}
			if test.mode != 0 {
				if err := os.Chmod(file, test.mode); err != nil {
					t.Fatal(err)
				}
			}
			f := count.launch(t, kubeconfig, leaving(t, dir, suite.FreeAddress(t)))
			if got := fills(t, f, "snapshot"); got != "0" {
				t.Errorf("%s lanes resumed from a snapshot, want 0", got)
			}
			said := f.Logs.FilterMessage("Snapshot not used").All()
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
