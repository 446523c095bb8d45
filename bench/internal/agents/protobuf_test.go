package agents

import (
	"encoding/binary"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

type message interface{ Marshal() ([]byte, error) }

// envelope returns a body of kube-apiserver.
func envelope(t *testing.T, m message) []byte {
	t.Helper()
	raw, err := m.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	body, err := (&runtime.Unknown{Raw: raw}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return append([]byte("k8s\x00"), body...)
}

// frame returns an event with its length.
func frame(t *testing.T, kind watch.EventType, m message) string {
	t.Helper()
	event, err := (&metav1.WatchEvent{Type: string(kind), Object: runtime.RawExtension{Raw: envelope(t, m)}}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return string(append(binary.BigEndian.AppendUint32(nil, uint32(len(event))), event...))
}

func podAt(version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: version, Labels: map[string]string{"version": "99"},
		Annotations: map[string]string{"sent": "1"}}}
}

func TestFleetReadsProtobuf(t *testing.T) {
	list := func(version string) func(http.ResponseWriter, *http.Request) {
		body := envelope(t, &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: version}, Items: []corev1.Pod{*podAt("5")}})
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) }
	}
	large := podAt("11")
	large.Spec.NodeName = strings.Repeat("x", 3*headBytes)
	first, bookmark, last := frame(t, watch.Added, large), frame(t, watch.Bookmark, podAt("20")), frame(t, watch.Modified, podAt("21"))
	expired := frame(t, watch.Error, &metav1.Status{Code: http.StatusGone, Reason: metav1.StatusReasonExpired})
	s := &script{answers: []func(http.ResponseWriter, *http.Request){
		list("10"),
		stays(first[:2], first[2:40], first[40:len(first)-9], first[len(first)-9:]+bookmark, last[:len(last)-1]),
		stays(last),
		func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(expired)) },
		list("30"),
		stays(),
	}}
	f := start(t, s, Config{PerConnection: 1, Encoding: Protobuf{}, Stamp: "sent\x12\x01"})
	until(t, f, Counts{Watching: 1, Events: 1, Lists: 1})
	f.Cut()
	until(t, f, Counts{Watching: 1, Events: 2, Lists: 1})
	f.Cut()
	until(t, f, Counts{Watching: 1, Events: 2, Lists: 2, Ended: 1})
	s.mu.Lock()
	defer s.mu.Unlock()
	if want := []string{" 0", " 110", " 120", " 121", " 0", " 130"}; !slices.Equal(s.asked, want) {
		t.Errorf("got requests %q, want %q", s.asked, want)
	}
	if got := len(f.Delays()); got != 2 {
		t.Errorf("got %d delays, want 2", got)
	}
}
