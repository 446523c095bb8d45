package main

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
)

const podList = `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"17","continue":"abc","remainingItemCount":3},` +
	`"items":[{"metadata":{"name":"a","resourceVersion":"5"}}]}`

func TestDiffer(t *testing.T) {
	tests := []struct {
		name, old, new string // replacement in the second response
		contentType    string
		want           string // part of the difference; empty: none
	}{
		{name: "equal"},
		{name: "another version of the list", old: `"17"`, new: `"18"`},
		{name: "another token", old: `"abc"`, new: `"xyz"`},
		{name: "another version of an object", old: `"5"`, new: `"6"`, want: "items differ"},
		{name: "another count", old: `:3}`, new: `:4}`, want: "the list is"},
		{name: "a missing item", old: `{"metadata":{"name":"a","resourceVersion":"5"}}`, want: "items differ"},
		{name: "another kind", old: "PodList", new: "Podlist", want: "the list is"},
		{name: "another media type", contentType: "text/plain", want: "Content-Type"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := reading{header: http.Header{}, body: []byte(strings.Replace(podList, test.old, test.new, 1))}
			if test.contentType != "" {
				got.header.Set("Content-Type", test.contentType)
			}
			err := differ(reading{header: http.Header{}, body: []byte(podList)}, got)
			switch {
			case err == nil && test.want != "":
				t.Errorf("got no difference, want %q", test.want)
			case err != nil && (test.want == "" || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// podsIn encodes a list as kube-apiserver does.
func podsIn(t *testing.T, list *corev1.PodList) []byte {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := protobuf.NewSerializer(scheme, scheme).Encode(list, &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestDifferInProtobuf(t *testing.T) {
	list := func(version, token, pod string) []byte {
		return podsIn(t, &corev1.PodList{
			ListMeta: metav1.ListMeta{ResourceVersion: version, Continue: token},
			Items:    []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: pod, ResourceVersion: "5"}}},
		})
	}
	for _, test := range []struct {
		name string
		body []byte
		want string
	}{
		{"equal", list("17", "abc", "a"), ""},
		{"another version of the list", list("1234567", "abc", "a"), ""},
		{"another token", list("17", "xyzxyz", "a"), ""},
		{"no token", list("17", "", "a"), "the list is"},
		{"another item", list("17", "abc", "b"), "items differ"},
		{"cut off", list("17", "abc", "a")[:30], "the list is"},
	} {
		err := differ(reading{header: http.Header{}, body: list("17", "abc", "a")}, reading{header: http.Header{}, body: test.body})
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

func TestDifferInStreams(t *testing.T) {
	const events = `{"type":"ADDED","object":{"metadata":{"resourceVersion":"5"}}}` + "\n"
	compare := func(got string) error {
		return differ(reading{header: http.Header{}, body: []byte(events + bookmark)}, reading{header: http.Header{}, body: []byte(got)})
	}
	if err := compare(events + strings.Replace(bookmark, `"17"`, `"18"`, 1)); err != nil {
		t.Errorf("another version of the list: %v", err)
	}
	for _, wrong := range []string{bookmark, strings.Replace(events, `"5"`, `"6"`, 1) + bookmark, events, events + strings.Replace(bookmark, "BOOK", "", 1)} {
		if compare(wrong) == nil {
			t.Errorf("got no difference for %s", wrong)
		}
	}
}
