package main

import (
	"net/http"
	"strings"
	"testing"
)

const podList = `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"17","continue":"abc","remainingItemCount":3},` +
	`"items":[{"metadata":{"name":"a","resourceVersion":"5"}}]}`

func TestDiffer(t *testing.T) {
	tests := []struct {
		name, old, new string // what is replaced in the other answer
		contentType    string
		want           string // part of the difference; empty: none
	}{
		{name: "equal"},
		{name: "another version of the list", old: `"17"`, new: `"18"`},
		{name: "another token", old: `"abc"`, new: `"xyz"`},
		{name: "another version of an object", old: `"5"`, new: `"6"`, want: "items differ"},
		{name: "another count", old: `:3}`, new: `:4}`, want: "begins"},
		{name: "a missing item", old: `{"metadata":{"name":"a","resourceVersion":"5"}}`, want: "items differ"},
		{name: "another kind", old: "PodList", new: "Podlist", want: "begins"},
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
				t.Error("no difference was found")
			case err != nil && (test.want == "" || !strings.Contains(err.Error(), test.want)):
				t.Errorf("found: %v", err)
			}
		})
	}
}
