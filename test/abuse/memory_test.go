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
	// memoryLimit is what the kernel lets the facade have, and all but 32 MiB of it its budget. When it caches nothing it
	// takes a quarter.
	memoryLimit, memoryBudget = 128 << 20, 96 << 20
	// Each of two kinds has so many objects of so many bytes: 20 MB in each of two encodings. One lane fits, and perhaps
	// a second, and never all four.
	largeObjects, largeObject = 100, 200 << 10
	// slowReaders ask for more at once than there is memory for.
	slowReaders = 100
)

var podTemplates = schema.GroupVersionResource{Version: "v1", Resource: "podtemplates"}

// The facade's process lives, and answers what is small, whatever it is asked for: more lanes than it has memory for,
// and more lists at a time. What it has none for is refused with a time to come back, and served when there is.
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
			t.Errorf("they are answered %v", codes)
		}
	})
	v.becomes(t, list, http.StatusOK)
	t.Run("more lanes than there is memory for", func(t *testing.T) {
		v.crowded(t, f, one)
	})
	testkit.Eventually(t, "the lane that was there first is whole", func() error {
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

// fillWith makes objects of two kinds that nothing makes smaller.
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

// limited asks a facade in a process of its own.
type limited struct{ *visitor }

// startLimited runs the program until the test ends, and holds that it does not end before.
func startLimited(t *testing.T, limit hardLimit) limited {
	t.Helper()
	// Who does not read is not cut off before all ask.
	flags := []string{"--write-timeout", "5m", "--request-timeout", "5m"}
	if limit.group == "" {
		flags = append(flags, "--memory-budget", strconv.Itoa(memoryBudget))
	}
	p := suite.StartProcess(t, limit.command, suite.FacadeKubeconfig(t, suite.Cluster(t)), flags...)
	v := &visitor{config: p.Config}
	v.client = v.newClient(t, nil)
	return limited{v}
}

// dawdlers ask for a list on connections of their own and read only how the answer begins, until each of them has one;
// meanwhile an object is served. It returns how many were answered how.
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

// crowded asks for both kinds in both encodings, again and again until all have been refused or served, and holds that
// not all are served and that one object always is.
func (v limited) crowded(t *testing.T, f *suite.Fixture, one string) {
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
		t.Error("none is refused")
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

// items is how many objects a list has.
func items(t *testing.T, body []byte) int {
	t.Helper()
	var list metav1.PartialObjectMetadataList
	if err := json.Unmarshal(body, &list); err != nil {
		t.Error(err)
	}
	return len(list.Items)
}
