package jsonwire

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listfacade/listfacade/internal/wire/scan"
)

func split(body string) (ListBody, []Row, error) {
	var rows []Row
	list, err := SplitList([]byte(body), func(row Row) error {
		rows = append(rows, row)
		return nil
	})
	return list, rows, err
}

// rowOf returns a row with an object, and optionally cells and conditions.
func rowOf(object string, parts ...string) Row {
	row := Row{Object: []byte(object)}
	for i, part := range []*[]byte{&row.Cells, &row.Conditions} {
		if i < len(parts) {
			*part = []byte(parts[i])
		}
	}
	return row
}

func TestSplitList(t *testing.T) {
	for name, test := range map[string]struct {
		body string
		list ListBody
		want []Row
	}{
		"built-in": {
			`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"t"},"items":[{"a":1},{"b":2}]}` + "\n",
			ListBody{Kind: "PodList", APIVersion: "v1", ResourceVersion: "7", Continue: "t"}, []Row{rowOf(`{"a":1}`), rowOf(`{"b":2}`)},
		},
		"custom": {
			`{"apiVersion":"ex.io/v1","items":[{"kind":"Table","rows":[]}],"kind":"WList","metadata":{"continue":"","resourceVersion":"7"}}`,
			ListBody{Kind: "WList", APIVersion: "ex.io/v1", ResourceVersion: "7"}, []Row{rowOf(`{"kind":"Table","rows":[]}`)},
		},
		"null": {`{"kind":"L","apiVersion":"v1","metadata":{},"items":null}`, ListBody{Kind: "L", APIVersion: "v1"}, nil},
		"table": {
			`{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"7"},"columnDefinitions":[{}],"rows":` +
				`[{"cells":[1],"object":{"a":1}},{"cells":[2],"conditions":[{}],"object":{"b":2}},` +
				`{"conditions":null,"object":{},"cells":[]}]}`,
			ListBody{Kind: "Table", APIVersion: "meta.k8s.io/v1", ResourceVersion: "7", Columns: []byte(`[{}]`)},
			[]Row{rowOf(`{"a":1}`, `[1]`), rowOf(`{"b":2}`, `[2]`, `[{}]`), rowOf(`{}`, `[]`)},
		},
		"a custom resource called Table": {
			`{"kind":"Table","apiVersion":"ex.io/v1","metadata":{"resourceVersion":"7"},"items":[{}],"rows":[1]}`,
			ListBody{Kind: "Table", APIVersion: "ex.io/v1", ResourceVersion: "7"}, []Row{rowOf(`{}`)},
		},
		"spaced": {
			"{\n \"kind\": \"L\",\n \"apiVersion\": \"v1\", \"metadata\": {\"resourceVersion\": \"7\"}, \"items\": [ {\"a\": 1} ,{}\n]\n}\n",
			ListBody{Kind: "L", APIVersion: "v1", ResourceVersion: "7"}, []Row{rowOf(`{"a": 1}`), rowOf(`{}`)},
		},
	} {
		list, rows, err := split(test.body)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(test.list, list); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(test.want, rows); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestSplitListRejectsMalformedLists(t *testing.T) {
	for _, body := range []string{
		``, `{}`, `[]`, `{"kind":"PodList","apiVersion":"v1"}`, `{"items":[]}`, `{"kind":"L","items":{}}`, `{"kind":"L","items":[{}`,
		`{"kind":"L","items":[]} x`, `<html>`, `{"kind":"Table","apiVersion":"meta.k8s.io/v1"}`,
		`{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[{"cells":[1],"object":null}]}`,
		`{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[{"object":{}}]}`,
		`{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[{"cells":[],"conditions":{},"object":{}}]}`,
	} {
		var malformed *scan.MalformedError
		if list, _, err := split(body); !errors.As(err, &malformed) {
			t.Errorf("%s: got %+v, %v", body, list, err)
		}
	}
}

func TestSplitListReturnsErrors(t *testing.T) {
	stop := errors.New("stop")
	calls := 0
	_, err := SplitList([]byte(`{"kind":"L","items":[{},{}]}`), func(Row) error { calls++; return stop })
	if !errors.Is(err, stop) || calls != 1 {
		t.Errorf("got %v after %d calls", err, calls)
	}
}

func TestLearnStyleRejectsMalformedLists(t *testing.T) {
	for _, body := range []string{`{"kind":"Status"}`, `{"kind":"L","items":[]}`, `{"apiVersion":"v1","items":[]}`, `x`} {
		if style, err := LearnStyle([]byte(body)); err == nil {
			t.Errorf("%s: got %+v, want an error", body, style)
		}
	}
}

func FuzzSplitList(f *testing.F) {
	f.Add([]byte(`{"kind":"L","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"t"},"items":[{"a":1},2]}`))
	f.Add([]byte(`{"apiVersion":"ex.io/v1","items":[{}],"kind":"WList","metadata":{}}`))
	f.Add([]byte(`{"kind":"Table","apiVersion":"meta.k8s.io/v1","columnDefinitions":null,"rows":[{"cells":[2],"conditions":[],"object":{}}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var bad []byte
		_, err := SplitList(body, func(row Row) error {
			for _, part := range [][]byte{row.Object, row.Cells, row.Conditions} {
				if part != nil && !json.Valid(part) {
					bad = bytes.Clone(part)
				}
			}
			return nil
		})
		if err == nil && !json.Valid(body) || bad != nil {
			t.Errorf("accepted malformed JSON: %s", bad)
		}
	})
}
