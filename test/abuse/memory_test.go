package abuse

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

const (
	// memoryLimit is the memory that the kernel allows the facade. memoryBudget is 48 MiB less. An empty facade
	// uses a quarter of the limit.
	memoryLimit, memoryBudget = 128 << 20, 80 << 20
	// Each of two kinds has largeObjects objects of largeObject bytes: 20 MB in each of two encodings. One lane
	// fits, perhaps two, never all four.
	largeObjects, largeObject = 100, 200 << 10
	// slowReaders is the number of concurrent lists. Together they need more memory than there is.
	slowReaders = 100
)

var podTemplates = schema.GroupVersionResource{Version: "v1", Resource: "podtemplates"}

// Clients request more lanes and more concurrent lists than the facade has memory for. The process survives and serves
// small requests. It refuses the others with Retry-After, and serves them when memory is free again.
func TestMemoryIsBounded(t *testing.T) {
	settings.Long(t)
	f := suite.NewFixture(t, suite.Cluster(t))
	fillWith(t, f)
	v := startLimited(t, newHardLimit(t, memoryLimit))
	v.becomes(t, "/readyz", http.StatusOK)
	list := suite.Collection(suite.ConfigMaps, f.Namespace) + "?resourceVersion=0"
	one := suite.Collection(suite.ConfigMaps, f.Namespace) + "/large-7"
	v.becomes(t, list, http.StatusOK)

	t.Run("more lists than there is memory for", func(t *testing.T) {
		codes := v.dawdlers(t, list, one)
		if codes[http.StatusOK] == 0 || codes[http.StatusTooManyRequests] == 0 {
			t.Errorf("got answers %v, want both 200 and 429", codes)
		}
	})
	v.becomes(t, list, http.StatusOK)
	t.Run("more lanes than there is memory for", func(t *testing.T) {
		v.lanes(t, f, one)
	})
	testkit.Eventually(t, "the first lane serves all objects", func() error {
		if got := v.get(t, list); got.code != http.StatusOK || items(t, got.body) < largeObjects {
			return fmt.Errorf("%d, %d objects", got.code, items(t, got.body))
		}
		return nil
	})
	t.Run("as before, when there is memory again", func(t *testing.T) {
		if err := f.In(podTemplates).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			t.Fatal(err)
		}
		v.becomes(t, suite.Collection(podTemplates, f.Namespace)+"?resourceVersion=0", http.StatusOK)
		v.becomes(t, list, http.StatusOK)
	})
}

// fillWith creates objects of two kinds with content that does not compress.
func fillWith(t *testing.T, f *suite.Fixture) {
	t.Helper()
	random := rand.NewChaCha8([32]byte{1})
	var writers errgroup.Group
	writers.SetLimit(16)
	for i := range largeObjects {
		content := make([]byte, largeObject*3/4)
		_, _ = random.Read(content)
		text, name := base64.StdEncoding.EncodeToString(content), "large-"+strconv.Itoa(i)
		for gvr, object := range map[schema.GroupVersionResource]map[string]any{
			suite.ConfigMaps: {"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}, "data": map[string]any{"text": text}},
			podTemplates: {
				"apiVersion": "v1", "kind": "PodTemplate", "metadata": map[string]any{"name": name, "annotations": map[string]any{"text": text}},
				"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": "i"}}}},
			},
		} {
			writers.Go(func() error {
				_, err := f.In(gvr).Create(t.Context(), &unstructured.Unstructured{Object: object}, metav1.CreateOptions{})
				return err
			})
		}
	}
	if err := writers.Wait(); err != nil {
		t.Fatal(err)
	}
}

// limited is a client of a facade that runs in a separate process.
type limited struct{ *visitor }

// startLimited runs the program until the test ends. The test fails if the program ends before.
func startLimited(t *testing.T, limit hardLimit) limited {
	t.Helper()
	// Clients that do not read must not be cut off before all have sent their requests.
	flags := []string{"--write-timeout", "5m", "--request-timeout", "5m"}
	if limit.group == "" {
		flags = append(flags, "--memory-budget", strconv.Itoa(memoryBudget))
	}
	p := suite.StartProcess(t, limit.command, suite.FacadeKubeconfig(t, suite.Cluster(t)), flags...)
	v := &visitor{config: p.Config}
	v.client = v.newClient(t, nil)
	return limited{v}
}

// dawdlers sends list requests on separate connections and reads only the headers of the answers. Meanwhile an object
// must be served. It returns the number of answers by code.
func (v limited) dawdlers(t *testing.T, list, one string) map[int]int {
	t.Helper()
	codes, mu := map[int]int{}, sync.Mutex{}
	var readers errgroup.Group
	for range slowReaders {
		conn := v.dial(t, "http/1.1")
		readers.Go(func() error {
			defer func() { t.Cleanup(func() { _ = conn.Close() }) }()
			if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", list); err != nil {
				return err
			}
			response, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				return err
			}
			if response.StatusCode != http.StatusOK {
				refused(t, read(t, response))
			}
			mu.Lock()
			defer mu.Unlock()
			codes[response.StatusCode]++
			return nil
		})
		v.served(t, one)
	}
	if err := readers.Wait(); err != nil {
		t.Error(err)
	}
	v.served(t, one)
	return codes
}

// lanes lists both kinds in both encodings several times. Some lists must be refused, and one object must always be
// served.
func (v limited) lanes(t *testing.T, f *suite.Fixture, one string) {
	t.Helper()
	refusals := 0
	for range 5 {
		for _, gvr := range []schema.GroupVersionResource{suite.ConfigMaps, podTemplates} {
			for _, accept := range []string{"application/json", "application/vnd.kubernetes.protobuf"} {
				got := v.inForm(t, suite.Collection(gvr, f.Namespace)+"?resourceVersion=0", accept)
				if got.code == http.StatusTooManyRequests {
					refused(t, got)
					refusals++
				} else if got.code != http.StatusOK {
					t.Errorf("%s in %s: %d %s", gvr.Resource, accept, got.code, got.body)
				}
				if got := v.inForm(t, suite.Collection(gvr, f.Namespace)+"/large-7", accept); got.code != http.StatusOK {
					t.Errorf("an object of %s in %s: %d %s", gvr.Resource, accept, got.code, got.body)
				}
				v.served(t, one)
			}
		}
	}
	if refusals == 0 {
		t.Error("no list is refused")
	}
}

func (v limited) inForm(t *testing.T, path, accept string) reply {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, v.config.Host+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", accept)
	response, err := v.client.Do(request)
	if err != nil {
		t.Error(err)
		return reply{}
	}
	return read(t, response)
}

// items returns the number of objects in a list.
func items(t *testing.T, body []byte) int {
	t.Helper()
	var list metav1.PartialObjectMetadataList
	if err := json.Unmarshal(body, &list); err != nil {
		t.Error(err)
	}
	return len(list.Items)
}
