package testkit

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// object returns an object as it is in history's watch.
func object(key string, rv int, color string) string {
	return strings.TrimSuffix(strings.TrimPrefix(frame("ADDED", key, rv, color), `{"type":"ADDED","object":`), "}")
}

// listed returns a list of such objects in kube-apiserver's encoding.
func listed(rv int, objects ...string) *Answer {
	for i, o := range objects {
		objects[i] = strings.Replace(o, `"kind":"ConfigMap","apiVersion":"v1",`, "", 1)
	}
	return &Answer{Code: http.StatusOK, Body: fmt.Appendf(nil,
		`{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"%d"},"items":[%s]}`+"\n", rv, strings.Join(objects, ","))}
}

func found(object string) *Answer { return &Answer{Code: http.StatusOK, Body: []byte(object + "\n")} }

func missing() *Answer { return &Answer{Code: http.StatusNotFound, Body: []byte(`{"kind":"Status"}`)} }

const (
	lists = "/api/v1/configmaps?resourceVersionMatch=NotOlderThan&resourceVersion="
	gets  = "/api/v1/namespaces/ns/configmaps/"
)

func TestCheckRead(t *testing.T) {
	a14, b12, c4 := object("ns/a", 14, "red"), object("ns/b", 12, "blue"), object("ns/c", 4, "red")
	for name, c := range map[string]struct {
		path   string
		answer *Answer
		breaks Guarantee // "" when it is right
	}{
		"everything":               {lists + "14", listed(14, a14, b12, c4), ""},
		"later than asked":         {lists + "12", listed(14, a14, b12, c4), ""},
		"between two changes":      {lists + "12", listed(18, a14, c4), ""},
		"of one namespace":         {"/api/v1/namespaces/other/configmaps?resourceVersion=14", listed(14), ""},
		"selected":                 {lists + "14&labelSelector=color%3Dblue", listed(14, b12), ""},
		"older than requested":     {lists + "15", listed(14, a14, b12, c4), Fresh},
		"one is missing":           {lists + "14", listed(14, a14, c4), Snapshot},
		"the last one is missing":  {lists + "14", listed(14, a14, b12), Snapshot},
		"one is gone":              {lists + "14", listed(15, a14, b12, c4), Snapshot},
		"one is old":               {lists + "14", listed(14, object("ns/a", 13, "blue"), b12, c4), Snapshot},
		"one has other content":    {lists + "14", listed(14, a14, object("ns/b", 12, "red"), c4), Snapshot},
		"one is not selected":      {lists + "14&labelSelector=color%3Dred", listed(14, a14, b12, c4), Snapshot},
		"one too many":             {lists + "14", listed(14, a14, b12, c4, c4), Snapshot},
		"an object of that moment": {gets + "a?resourceVersion=14", found(a14), ""},
		"a later object":           {gets + "a?resourceVersion=11", found(a14), ""},
		"one until it changed":     {gets + "a?resourceVersion=12", found(object("ns/a", 11, "red")), ""},
		"one that has changed":     {gets + "a?resourceVersion=13", found(object("ns/a", 11, "red")), Fresh},
		"an object until it died":  {gets + "b?resourceVersion=14", found(b12), ""},
		"one that has died":        {gets + "b?resourceVersion=15", found(b12), Fresh},
		"not there any more":       {gets + "b?resourceVersion=12", missing(), ""},
		"not there yet":            {gets + "b?resourceVersion=11", missing(), ""},
		"there, and denied":        {gets + "c?resourceVersion=11", missing(), Snapshot},
		"never there":              {gets + "d?resourceVersion=11", missing(), ""},
		"made up":                  {gets + "c?resourceVersion=11", found(object("ns/c", 12, "red")), Snapshot},
	} {
		err := CheckRead(Question{Path: c.path}, c.answer, 0, history(t))
		if (err == nil) != (c.breaks == "") || (err != nil && !strings.Contains(err.Error(), string(c.breaks))) {
			t.Errorf("%s: %v, want %q", name, err, c.breaks)
		}
	}
}

func TestCheckReadRejectsOlderThanSeen(t *testing.T) {
	for path, answer := range map[string]*Answer{
		"/api/v1/configmaps": listed(12, object("ns/a", 11, "red"), object("ns/b", 12, "blue"), object("ns/c", 4, "red")),
		gets + "a":           found(object("ns/a", 11, "red")),
	} {
		for floor, right := range map[uint64]bool{12: true, 13: false} {
			if err := CheckRead(Question{Path: path}, answer, floor, history(t)); (err == nil) != right {
				t.Errorf("%s after %d was seen: %v", path, floor, err)
			}
		}
	}
}

func TestCheckReadRejectsUnsupportedInput(t *testing.T) {
	for name, c := range map[string]struct {
		path   string
		answer *Answer
	}{
		"a watch":                {"/api/v1/configmaps?watch=1&resourceVersion=10", listed(14)},
		"a list after the model": {lists + "14", listed(21)},
		"an error":               {lists + "14", &Answer{Code: http.StatusGatewayTimeout, Body: []byte("{}")}},
		"an error for an object": {gets + "a", &Answer{Code: http.StatusGatewayTimeout, Body: []byte("{}")}},
	} {
		if err := CheckRead(Question{Path: c.path}, c.answer, 0, history(t)); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}
