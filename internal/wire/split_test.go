package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type piece struct{ Object, Row string }

func split(body string) (List, []piece, error) {
	var pieces []piece
	list, err := SplitList([]byte(body), func(object, row []byte) error {
		pieces = append(pieces, piece{string(object), string(row)})
		return nil
	})
	return list, pieces, err
}

func TestSplitList(t *testing.T) {
	for name, test := range map[string]struct {
		body string
		list List
		want []piece
	}{
		"built-in": {
			`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"t"},"items":[{"a":1},{"b":2}]}` + "\n",
			List{Kind: "PodList", APIVersion: "v1", ResourceVersion: "7", Continue: "t"}, []piece{{`{"a":1}`, ""}, {`{"b":2}`, ""}},
		},
		"custom": {
			`{"apiVersion":"ex.io/v1","items":[{"kind":"Table","rows":[]}],"kind":"WList","metadata":{"continue":"","resourceVersion":"7"}}`,
			List{Kind: "WList", APIVersion: "ex.io/v1", ResourceVersion: "7"}, []piece{{`{"kind":"Table","rows":[]}`, ""}},
		},
		"null": {`{"kind":"L","apiVersion":"v1","metadata":{},"items":null}`, List{Kind: "L", APIVersion: "v1"}, nil},
		"table": {
			`{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"7"},"columnDefinitions":[{}],"rows":` +
				`[{"cells":[1],"object":{"a":1}},{"cells":[2],"conditions":[{}],"object":{"b":2}}]}`,
			List{Kind: "Table", APIVersion: "meta.k8s.io/v1", ResourceVersion: "7", Columns: []byte(`[{}]`)},
			[]piece{{`{"a":1}`, "[1]"}, {`{"b":2}`, `[2],"conditions":[{}]`}},
		},
		"a custom resource called Table": {
			`{"kind":"Table","apiVersion":"ex.io/v1","metadata":{"resourceVersion":"7"},"items":[{}],"rows":[1]}`,
			List{Kind: "Table", APIVersion: "ex.io/v1", ResourceVersion: "7"}, []piece{{`{}`, ""}},
		},
		"spaced": {
			"{\n \"kind\": \"L\",\n \"apiVersion\": \"v1\", \"metadata\": {\"resourceVersion\": \"7\"}, \"items\": [ {\"a\": 1} ,{}\n]\n}\n",
			List{Kind: "L", APIVersion: "v1", ResourceVersion: "7"}, []piece{{`{"a": 1}`, ""}, {`{}`, ""}},
		},
	} {
		list, pieces, err := split(test.body)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(test.list, list); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(test.want, pieces); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestSplitListRefuses(t *testing.T) {
	for _, body := range []string{
		``, `{}`, `[]`, `{"kind":"PodList","apiVersion":"v1"}`, `{"items":[]}`, `{"kind":"L","items":{}}`, `{"kind":"L","items":[{}`,
		`{"kind":"L","items":[]} x`, `<html>`, `{"kind":"Table","apiVersion":"meta.k8s.io/v1"}`,
		`{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[{"cells":[1],"object":null}]}`,
		`{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[{"object":{}}]}`,
		`{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":null}`,
	} {
		var malformed *MalformedError
		if list, _, err := split(body); !errors.As(err, &malformed) {
			t.Errorf("%s: got %+v, %v", body, list, err)
		}
	}
}

func TestSplitListPassesErrorsOn(t *testing.T) {
	stop := errors.New("stop")
	calls := 0
	_, err := SplitList([]byte(`{"kind":"L","items":[{},{}]}`), func(_, _ []byte) error { calls++; return stop })
	if !errors.Is(err, stop) || calls != 1 {
		t.Errorf("got %v after %d calls", err, calls)
	}
}

func TestShape(t *testing.T) {
	for _, body := range []string{`{"kind":"Status"}`, `{"kind":"L","items":[]}`, `{"apiVersion":"v1","items":[]}`, `x`} {
		if shape, err := LearnList([]byte(body)); err == nil {
			t.Errorf("%s: learned %+v", body, shape)
		}
	}
	s := Shape{Kind: "Pod", APIVersion: "v1"}
	if err := s.SetColumns([]byte(`{}`)); err == nil {
		t.Error("columns that are no array were accepted")
	}
	for object, want := range map[string]string{
		`{}`: `{"kind":"Pod","apiVersion":"v1"}`, `{"a":1}`: `{"kind":"Pod","apiVersion":"v1","a":1}`, `{ }`: `{"kind":"Pod","apiVersion":"v1"}`,
		"{\n \"a\": 1}": `{"kind":"Pod","apiVersion":"v1","a": 1}`, `2`: `2`,
	} {
		if got := string(s.WithTypeMeta([]byte(object))); got != want {
			t.Errorf("%s: got %s, want %s", object, got, want)
		}
	}
}

func FuzzSplitList(f *testing.F) {
	f.Add([]byte(`{"kind":"L","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"t"},"items":[{"a":1},2]}`))
	f.Add([]byte(`{"apiVersion":"ex.io/v1","items":[{}],"kind":"WList","metadata":{}}`))
	f.Add([]byte(`{"kind":"Table","apiVersion":"meta.k8s.io/v1","columnDefinitions":null,"rows":[{"cells":[2],"conditions":[],"object":{}}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var bad []byte
		_, err := SplitList(body, func(object, row []byte) error {
			if !json.Valid(object) || row != nil && !json.Valid(append(append([]byte(`{"cells":`), row...), '}')) {
				bad = bytes.Clone(append(object, row...))
			}
			return nil
		})
		if err == nil && !json.Valid(body) || bad != nil {
			t.Errorf("accepted malformed JSON: %s", bad)
		}
	})
}
