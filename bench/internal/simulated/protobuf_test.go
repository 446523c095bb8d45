package simulated

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/testkit/settings"
)

func TestPodsHaveTheBytesOfTheProtobufEncoder(t *testing.T) {
	s := server(t)
	for i := 0; i < manyPods; i += settings.Amount(4, 1) {
		// Versions, stamps, nodes and addresses of other lengths change the lengths of the messages around them.
		for _, state := range []state{{version: 5}, {version: 123_456_789_012, stamp: 1_792_000_000_000_000_000}} {
			var pod corev1.Pod
			if err := json.Unmarshal(s.pods.appendPod(nil, i, state), &pod); err != nil {
				t.Fatal(err)
			}
			want, err := pod.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			if got := s.pods.appendProtobuf(nil, i, state); !bytes.Equal(got, want) {
				t.Fatalf("pod %d: got %q, want %q", i, got, want)
			}
		}
	}
}

func TestProtobufListHasTheBytesOfTheEncoder(t *testing.T) {
	s := server(t)
	encoder := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	for _, path := range []string{"/api/v1/pods?limit=7", "/api/v1/pods?limit=7&continue=296.1000300"} {
		var list corev1.PodList
		if err := json.Unmarshal(get(t, s, path, "application/json", http.StatusOK), &list); err != nil {
			t.Fatal(err)
		}
		var want bytes.Buffer
		if err := encoder.Encode(&list, &want); err != nil {
			t.Fatal(err)
		}
		if got := get(t, s, path, runtime.ContentTypeProtobuf, http.StatusOK); !bytes.Equal(got, want.Bytes()) {
			t.Errorf("%s: got %q, want %q", path, got, want.Bytes())
		}
	}
}

// podsIn returns client-go's typed client, which asks for the given media type.
func podsIn(t *testing.T, web *httptest.Server, contentType string) typedcorev1.PodInterface {
	t.Helper()
	client, err := typedcorev1.NewForConfig(&rest.Config{Host: web.URL, ContentConfig: rest.ContentConfig{ContentType: contentType}})
	if err != nil {
		t.Fatal(err)
	}
	return client.Pods("")
}

func TestClientsReceiveTheSamePodsInEachEncoding(t *testing.T) {
	s := server(t)
	web := httptest.NewServer(s)
	defer web.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var lists [2]*corev1.PodList
	var watches [2]watch.Interface
	for i, contentType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		pods := podsIn(t, web, contentType)
		var err error
		if lists[i], err = pods.List(ctx, metav1.ListOptions{Limit: 20}); err != nil {
			t.Fatal(err)
		}
		seconds := int64(3000)
		if watches[i], err = pods.Watch(ctx, metav1.ListOptions{ResourceVersion: lists[i].ResourceVersion, TimeoutSeconds: &seconds}); err != nil {
			t.Fatal(err)
		}
		defer watches[i].Stop()
	}
	lists[0].TypeMeta, lists[1].TypeMeta = metav1.TypeMeta{}, metav1.TypeMeta{}
	if diff := cmp.Diff(lists[0], lists[1]); diff != "" || len(lists[0].Items) != 20 {
		t.Errorf("%d pods in JSON differ from protobuf (-JSON +protobuf):\n%s", len(lists[0].Items), diff)
	}
	for n := range 5 {
		s.store.update(n)
		if diff := cmp.Diff(next(t, watches[0]), next(t, watches[1])); diff != "" {
			t.Errorf("events of pod %d differ (-JSON +protobuf):\n%s", n, diff)
		}
	}
}

func next(t *testing.T, w watch.Interface) watch.Event {
	t.Helper()
	event, ok := <-w.ResultChan()
	pod, isPod := event.Object.(*corev1.Pod)
	if !ok || event.Type != watch.Modified || !isPod {
		t.Fatalf("got event %s %T, want a modified pod", event.Type, event.Object)
	}
	pod.TypeMeta = metav1.TypeMeta{}
	return event
}

// The facade learns the fields of bookmarks from the first one.
func TestBookmarksHaveTheSameFieldsInEachEncoding(t *testing.T) {
	s := server(t)
	web := httptest.NewServer(s)
	defer web.Close()
	seconds := int64(1)
	var got [2]watch.Event
	for i, contentType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		w, err := podsIn(t, web, contentType).Watch(t.Context(), metav1.ListOptions{
			FieldSelector: "metadata.name=absent", SendInitialEvents: new(true), TimeoutSeconds: &seconds,
			ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, AllowWatchBookmarks: true})
		if err != nil {
			t.Fatal(err)
		}
		got[i] = <-w.ResultChan()
		w.Stop()
		pod, ok := got[i].Object.(*corev1.Pod)
		if !ok || got[i].Type != watch.Bookmark || pod.Annotations[metav1.InitialEventsAnnotationKey] != "true" || !strings.HasPrefix(pod.ResourceVersion, "1000") {
			t.Fatalf("%s: got event %+v, want the end of the initial events", contentType, got[i])
		}
		pod.TypeMeta = metav1.TypeMeta{}
	}
	if diff := cmp.Diff(got[0], got[1]); diff != "" {
		t.Errorf("bookmarks differ (-JSON +protobuf):\n%s", diff)
	}
}
