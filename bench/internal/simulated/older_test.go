package simulated

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// received opens a progress watch and returns its first events, each as its type and resourceVersion.
func received(t *testing.T, s http.Handler, query string, events int) (got []string) {
	t.Helper()
	web := httptest.NewServer(s)
	defer web.Close()
	response, err := web.Client().Get(web.URL + "/api/v1/pods?watch=1&timeoutSeconds=3&" + query)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	frames := json.NewDecoder(response.Body)
	for range events {
		var frame struct {
			Type   string
			Object corev1.Pod
		}
		if err := frames.Decode(&frame); err != nil {
			t.Fatalf("after %q: %v", got, err)
		}
		got = append(got, frame.Type+" "+frame.Object.ResourceVersion)
	}
	return got
}

// A progress watch receives the events after its version, and then a bookmark with the current version.
func TestProgressWatchReceivesEarlierEvents(t *testing.T) {
	s := server(t)
	before := s.store.now()
	s.store.update(1)
	s.store.update(2)
	version := fmt.Sprintf("resourceVersion=%d", before)
	for query, want := range map[string]string{
		version: fmt.Sprintf("MODIFIED %d, MODIFIED %d, BOOKMARK %d", before+1, before+2, before+2),
		version + "&fieldSelector=spec.nodeName%3D" + s.pods.Node(2): fmt.Sprintf("MODIFIED %d, BOOKMARK %d", before+2, before+2),
		version + "&fieldSelector=spec.nodeName%3Dother":             fmt.Sprintf("BOOKMARK %d", before+2),
		version + "&fieldSelector=metadata.name%3Dnobody":            fmt.Sprintf("BOOKMARK %d", before+2),
		"resourceVersion=0": fmt.Sprintf("BOOKMARK %d", before+2),
	} {
		if got := strings.Join(received(t, s, query, strings.Count(want, ",")+1), ", "); got != want {
			t.Errorf("%s: got %s, want %s", query, got, want)
		}
	}
}

// A list of one pod at an older version has the pod before its later changes.
func TestOnePodAtAnOlderVersion(t *testing.T) {
	s := server(t)
	initial := s.store.now()
	s.store.update(7)
	s.store.update(7)
	namespace, name := s.pods.Name(7)
	path := "/api/v1/namespaces/" + namespace + "/pods?fieldSelector=metadata.name%3D" + name +
		"&resourceVersionMatch=Exact&resourceVersion="
	for version, want := range map[uint64]uint64{initial: firstVersion + 7, initial + 1: initial + 1, initial + 2: initial + 2} {
		var list corev1.PodList
		if err := json.Unmarshal(get(t, s, fmt.Sprint(path, version), "application/json", http.StatusOK), &list); err != nil {
			t.Fatal(err)
		}
		if len(list.Items) != 1 || list.Items[0].Name != name || list.Items[0].Namespace != namespace ||
			list.Items[0].ResourceVersion != fmt.Sprint(want) || list.ResourceVersion != fmt.Sprint(version) {
			t.Errorf("at %d: got %+v, want the pod at %d", version, list, want)
		}
	}
	for _, version := range []uint64{initial - 1, initial + 3} {
		get(t, s, fmt.Sprint(path, version), "application/json", http.StatusGone)
	}
}

// A Table that was requested with objects has the pod of that version in its row, as JSON lanes request it.
func TestRowOfOnePodContainsThePod(t *testing.T) {
	s := server(t)
	version := s.store.now()
	s.store.update(7)
	namespace, name := s.pods.Name(7)
	body := get(t, s, fmt.Sprintf("/api/v1/namespaces/%s/pods?fieldSelector=metadata.name%%3D%s&includeObject=Object"+
		"&resourceVersionMatch=Exact&resourceVersion=%d", namespace, name, version),
		"application/json;as=Table;v=v1;g=meta.k8s.io", http.StatusOK)
	var table struct {
		Rows []struct {
			Cells  []any
			Object corev1.Pod
		}
	}
	if err := json.Unmarshal(body, &table); err != nil {
		t.Fatal(err)
	}
	if len(table.Rows) != 1 || table.Rows[0].Cells[0] != name || table.Rows[0].Object.Name != name ||
		table.Rows[0].Object.Kind != "Pod" || table.Rows[0].Object.ResourceVersion != fmt.Sprint(firstVersion+7) {
		t.Errorf("got %.300s, want the pod %s", body, name)
	}
}

// The server refuses a watch that it cannot select events for, and one that begins before its first event.
func TestOtherWatchesAreRefused(t *testing.T) {
	s := server(t)
	namespace, name := s.pods.Name(7)
	for target, code := range map[string]int{
		"/api/v1/namespaces/" + namespace + "/pods?fieldSelector=metadata.name%3D" + name: http.StatusBadRequest,
		"/api/v1/pods?fieldSelector=spec.nodeName%3Da%2Cstatus.phase%3DFailed":            http.StatusBadRequest,
		"/api/v1/pods?fieldSelector=spec.nodeName%3D%3Da":                                 http.StatusBadRequest,
		"/api/v1/pods?fieldSelector=status.phase%3DFailed":                                http.StatusBadRequest,
		"/api/v1/pods?labelSelector=a":                                                    http.StatusBadRequest,
		fmt.Sprint("/api/v1/pods?resourceVersion=", s.store.now()-1):                      http.StatusGone,
	} {
		get(t, s, target+"&watch=1&timeoutSeconds=3", "application/json", code)
	}
}
