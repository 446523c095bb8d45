package simulated

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listfacade/listfacade/internal/testkit/settings"
)

const manyPods = 300

// get sends a GET and fails unless the response has the given status.
func get(t *testing.T, s http.Handler, path, accept string, status int) []byte {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if w.Code != status {
		t.Fatalf("%s: %d %.300s", path, w.Code, w.Body)
	}
	return w.Body.Bytes()
}

func server(t *testing.T) *Server {
	t.Helper()
	pods, err := NewPods(manyPods, 0)
	if err != nil {
		t.Fatal(err)
	}
	return NewServer(pods)
}

// pages reads all pages of a list.
func pages(t *testing.T, s http.Handler, limit int, accept string, page func(body []byte) (next string)) {
	t.Helper()
	path := fmt.Sprintf("/api/v1/pods?limit=%d", limit)
	for next := page(get(t, s, path, accept, http.StatusOK)); next != ""; {
		next = page(get(t, s, path+"&continue="+next, accept, http.StatusOK))
	}
}

func listed(t *testing.T, s http.Handler) []corev1.Pod {
	t.Helper()
	var all []corev1.Pod
	pages(t, s, 200, "application/json", func(body []byte) string {
		var list corev1.PodList
		if err := json.Unmarshal(body, &list); err != nil {
			t.Fatal(err)
		}
		all = append(all, list.Items...)
		if left := list.RemainingItemCount; left != nil && int(*left)+len(all) != manyPods {
			t.Errorf("got a remainingItemCount of %d after %d pods", *left, len(all))
		}
		return list.Continue
	})
	return all
}

func TestPodsAreDistinctAndInOrder(t *testing.T) {
	all := listed(t, server(t))
	if len(all) != manyPods {
		t.Fatalf("got %d pods", len(all))
	}
	key := func(p corev1.Pod) string { return p.Namespace + "/" + p.Name }
	if !slices.IsSortedFunc(all, func(a, b corev1.Pod) int { return strings.Compare(key(a), key(b)) }) {
		t.Error("pods are not in the order of their keys")
	}
	for what, of := range map[string]func(corev1.Pod) string{
		"name": key, "uid": func(p corev1.Pod) string { return string(p.UID) }, "address": func(p corev1.Pod) string { return p.Status.PodIP },
		"version": func(p corev1.Pod) string { return p.ResourceVersion }, "container": func(p corev1.Pod) string { return p.Status.ContainerStatuses[0].ContainerID },
	} {
		seen := map[string]bool{}
		for _, pod := range all {
			seen[of(pod)] = true
		}
		if len(seen) != manyPods {
			t.Errorf("got %d different values of %s", len(seen), what)
		}
	}
	nodes := map[string]int{}
	for _, pod := range all {
		nodes[pod.Spec.NodeName]++
	}
	for node, n := range nodes {
		if n != perNode {
			t.Errorf("%d pods on %s", n, node)
		}
	}
}

// keeping is a writer that fails and, as HTTP/2 may, still reads the bytes that it was given.
type keeping struct {
	http.ResponseWriter
	given []byte
}

func (k *keeping) Write(p []byte) (int, error) {
	k.given = p
	return 0, errors.New("the stream was reset")
}

// A buffer that the writer of a failed response may still read is not used for another response.
func TestBufferOfFailedListIsNotReused(t *testing.T) {
	s := server(t)
	for range 20 { // a pool may drop a buffer
		failed := &keeping{ResponseWriter: httptest.NewRecorder()}
		s.ServeHTTP(failed, httptest.NewRequest(http.MethodGet, "/api/v1/pods?limit=10", nil))
		before := bytes.Clone(failed.given)
		get(t, s, "/api/v1/pods?limit=10&continue=20.", "application/json", http.StatusOK)
		if len(before) == 0 || !bytes.Equal(failed.given, before) {
			t.Fatal("another response changed the buffer of a failed one")
		}
	}
}

func TestPodsAreSpreadOverTheGivenNodes(t *testing.T) {
	pods, err := NewPods(manyPods, manyPods)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for i := range manyPods {
		seen[pods.Node(i)] = true
	}
	if len(seen) != manyPods {
		t.Errorf("got %d nodes, want %d", len(seen), manyPods)
	}
}

func TestServerAllowsEverything(t *testing.T) {
	s := server(t)
	for path, want := range reviews {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, nil))
		if got := strings.TrimSpace(w.Body.String()); w.Code != http.StatusCreated || got != want {
			t.Errorf("%s: got %d %s, want 201 %s", path, w.Code, got, want)
		}
	}
}

func TestTokenIsTheNameOfItsUser(t *testing.T) {
	w := httptest.NewRecorder()
	server(t).ServeHTTP(w, httptest.NewRequest(http.MethodPost, authentication+"/tokenreviews",
		strings.NewReader(`{"spec":{"token":"node-7"}}`)))
	var review authenticationv1.TokenReview
	if err := json.Unmarshal(w.Body.Bytes(), &review); err != nil {
		t.Fatal(err)
	}
	if s := review.Status; !s.Authenticated || s.User.Username != "node-7" {
		t.Errorf("got status %+v, want node-7", s)
	}
}

// No value of the template's pod remains in other pods, and every pod has the same bytes as kube-apiserver's encoding.
func TestPodsContainNoValuesOfTheTemplate(t *testing.T) {
	s := server(t)
	size, looked := 0, 0
	for i := 0; i < manyPods; i += settings.Amount(4, 1) {
		text := s.pods.appendPod(nil, i, state{version: 5, stamp: 6})
		size, looked = size+len(text), looked+1
		var pod corev1.Pod
		if err := json.Unmarshal(text, &pod); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		if again, err := json.Marshal(pod); err != nil || !bytes.Equal(again, text) {
			t.Fatalf("got other bytes than the encoder (%v):\n%s\n%s", err, text, again)
		}
		namespace, name := s.pods.Name(i)
		if pod.Namespace != namespace || pod.Name != name || pod.Spec.NodeName != s.pods.Node(i) || pod.ResourceVersion != "5" ||
			pod.Annotations[StampKey] != "6" || pod.Status.PodIPs[0].IP != pod.Status.PodIP || !strings.HasPrefix(name, pod.GenerateName) {
			t.Fatalf("pod %d is %s", i, text)
		}
		for _, mark := range []string{versionMark, stampMark} {
			if bytes.Contains(text, []byte(mark)) {
				t.Fatalf("%s is left in %s", mark, text)
			}
		}
	}
	if size /= looked; size < 14_000 || size > 16_500 {
		t.Errorf("got %d bytes of JSON for a pod, want about 15 kB", size)
	}
}

func TestTableRowsMatchPods(t *testing.T) {
	s := server(t)
	all := listed(t, s)
	n := 0
	pages(t, s, 2000, "application/json;as=Table;v=v1;g=meta.k8s.io", func(body []byte) string {
		var table metav1.Table
		if err := json.Unmarshal(body, &table); err != nil {
			t.Fatal(err)
		}
		for _, row := range table.Rows {
			pod := all[n]
			if len(row.Cells) != len(table.ColumnDefinitions) || row.Cells[0] != pod.Name || row.Cells[5] != pod.Status.PodIP || row.Cells[6] != pod.Spec.NodeName {
				t.Fatalf("got row %d %v for pod %s", n, row.Cells, pod.Name)
			}
			n++
		}
		return table.Continue
	})
	if n != manyPods {
		t.Errorf("got %d rows", n)
	}
}

func TestWatchReceivesUpdates(t *testing.T) {
	s := server(t)
	web := httptest.NewServer(s)
	defer web.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet,
		fmt.Sprintf("%s/api/v1/pods?watch=1&timeoutSeconds=60&resourceVersion=%d", web.URL, s.store.now()), nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	response, err := web.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	updates, err := web.Client().Post(web.URL+UpdatesPath, "application/json", strings.NewReader(`{"Count":30,"Every":1000000,"Among":10}`))
	if err != nil || updates.StatusCode != http.StatusOK {
		t.Fatalf("%v, %v", updates, err)
	}
	updates.Body.Close()
	frames, version, changed := json.NewDecoder(response.Body), s.store.now()-30, map[string]int{}
	for range 30 {
		var frame struct {
			Type   string
			Object struct {
				Rows []struct {
					Cells  []string
					Object corev1.Pod
				}
			}
		}
		if err := frames.Decode(&frame); err != nil {
			t.Fatal(err)
		}
		version++
		row := frame.Object.Rows[0]
		if row.Object.ResourceVersion != fmt.Sprint(version) || row.Cells[0] != row.Object.Name || row.Object.Annotations[StampKey] == "0" || row.Object.Kind != "Pod" {
			t.Fatalf("got event %+v", frame)
		}
		changed[row.Object.Namespace+"/"+row.Object.Name]++
	}
	for n := range 10 {
		namespace, name := s.pods.Name(Updates{Among: 10}.Pod(n, manyPods))
		if changed[namespace+"/"+name] != 3 {
			t.Errorf("%s/%s changed %d times: %v", namespace, name, changed[namespace+"/"+name], changed)
		}
	}
}

// A list must not continue at another version than that of its first page.
func TestContinuingAnOldListIsGone(t *testing.T) {
	s := server(t)
	var list corev1.PodList
	if err := json.Unmarshal(get(t, s, "/api/v1/pods?limit=5", "application/json", http.StatusOK), &list); err != nil {
		t.Fatal(err)
	}
	s.store.update(1)
	get(t, s, "/api/v1/pods?limit=5&continue="+list.Continue, "application/json", http.StatusGone)
	get(t, s, "/api/v1/pods?limit=5&resourceVersionMatch=Exact&resourceVersion="+list.ResourceVersion, "application/json", http.StatusGone)
}

func BenchmarkList(b *testing.B) {
	pods, err := NewPods(manyPods, 0)
	if err != nil {
		b.Fatal(err)
	}
	s := NewServer(pods)
	for b.Loop() {
		r := httptest.NewRequest(http.MethodGet, "/api/v1/pods?limit=500", nil)
		s.ServeHTTP(&discarded{header: http.Header{}}, r)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/500, "ns/pod")
}

// discarded is a ResponseWriter that discards the body.
type discarded struct{ header http.Header }

// Header implements http.ResponseWriter.
func (d *discarded) Header() http.Header { return d.header }

// Write implements http.ResponseWriter.
func (d *discarded) Write(p []byte) (int, error) { return io.Discard.Write(p) }

// WriteHeader implements http.ResponseWriter.
func (d *discarded) WriteHeader(int) {}
