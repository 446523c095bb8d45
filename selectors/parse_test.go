package selectors_test

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/selectors"
)

// The messages were observed at kube-apiserver 1.37 or copied from its source (semantics 5.1).
func TestParseLabelsErrors(t *testing.T) {
	const badKey = `unable to parse requirement: <nil>: Invalid value: "a/b/c": a valid label key must consist of ` +
		`alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  ` +
		`or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an ` +
		`optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`
	const badValue = `unable to parse requirement: values[0][a]: Invalid value: "b%25": a valid label must be an empty ` +
		`string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric ` +
		`character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is ` +
		`'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`
	tests := []struct{ selector, message string }{
		{"a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"},
		{"!", "unable to parse requirement: found '', expected: identifier"},
		{"a in b", "unable to parse requirement: found 'b' expected: '('"},
		{"a in (b", "unable to parse requirement: found '', expected: ',' or ')'"},
		{"a=b=c", "found '=', expected: ',' or 'end of string'"},
		{"=a", "found '=', expected: !, identifier, or 'end of string'"},
		{"a,,b", "found ',', expected: identifier after ','"},
		{"a,", "found '', expected: identifier after ','"},
		{"a===b", "unable to parse requirement: found '=', expected: identifier"},
		{"a gt 1", "unable to parse requirement: found 'gt', expected: in, notin, =, ==, !=, gt, lt"},
		{"a>x", `unable to parse requirement: values[0]: Invalid value: "x": for 'Gt', 'Lt' operators, the value must be an integer`},
		{"a/b/c=d", badKey},
		{"a=b%25", badValue},
	}
	for _, test := range tests {
		selector, err := selectors.ParseLabels(test.selector)
		checkInvalid(t, test.selector, selector, err, test.message)
	}
}

// Semantics 5.2.
func TestParseFieldsErrors(t *testing.T) {
	tests := []struct{ selector, message string }{
		{"foo", "invalid selector: 'foo'; can't understand 'foo'"},
		{"b=c,a", "invalid selector: 'b=c,a'; can't understand 'a'"},
		{`a=\x`, `invalid field selector: invalid escape sequence: \x`},
		{`a=b\`, `invalid field selector: invalid escape sequence: \`},
		{"a=b=c", "invalid field selector: unescaped character in value: 61"},
		{"a===c", "invalid field selector: unescaped character in value: 61"},
		{"a!==c", "invalid field selector: unescaped character in value: 61"},
	}
	for _, test := range tests {
		selector, err := selectors.ParseFields(test.selector)
		checkInvalid(t, test.selector, selector, err, test.message)
	}
}

func checkInvalid(t *testing.T, text string, selector any, err error, message string) {
	t.Helper()
	var invalid *selectors.InvalidError
	if !errors.As(err, &invalid) {
		t.Errorf("%q: got %v and error %v of type %T, want *InvalidError", text, selector, err, err)
		return
	}
	if err.Error() != message || invalid.Selector != text {
		t.Errorf("%q:\n got %s\nwant %s\nfor selector %q", text, err, message, invalid.Selector)
	}
}

func TestParseAcceptsOddSpellings(t *testing.T) {
	for text, want := range map[string]string{
		"":           "",
		"a=":         "a=",
		"a=,b":       "a=,b",
		"x in ()":    "x in ()",
		"x in (,a)":  "x in (,a)",
		"b, a\t=\nc": "a=c,b",
		"in in (in)": "in in (in)",
	} {
		selector, err := selectors.ParseLabels(text)
		if err != nil || selector.String() != want {
			t.Errorf("ParseLabels(%q) = %v, %v; want %q", text, selector, err, want)
		}
	}
	for text, want := range map[string]string{
		"":             "",
		",,":           "",
		"b=1,a==2":     "a=2,b=1",
		`a=x\,y\=\\`:   `a=x\,y\=\\`,
		" a =  spaced": " a =  spaced",
	} {
		selector, err := selectors.ParseFields(text)
		if err != nil || selector.String() != want {
			t.Errorf("ParseFields(%q) = %v, %v; want %q", text, selector, err, want)
		}
	}
}

// The message names the first unsupported term in the order of the terms' text.
func TestConvertFieldsReportsTheFirstTerm(t *testing.T) {
	pod := selectors.ForBuiltin(schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, selectors.Namespaced)
	_, err := parseFields(pod, "zzz=1,spec.nodeName=n,aaa!=2")
	var unsupported *selectors.UnsupportedFieldError
	if !errors.As(err, &unsupported) || unsupported.Field != "aaa" {
		t.Errorf("got %v, want an error for aaa", err)
	}
	checkInvalid(t, "aaa!=2,spec.nodeName=n,zzz=1", nil, err, "field label not supported: aaa")

	if converted, err := pod.ConvertFields(nil); converted != nil || err != nil {
		t.Errorf("ConvertFields(nil) = %v, %v", converted, err)
	}
}

func TestPinName(t *testing.T) {
	tests := []struct {
		selector, name, want string
		err                  error
	}{
		{"", "a", "metadata.name=a", nil},
		{"metadata.name=a", "a", "metadata.name=a", nil},
		{"metadata.name=a,status.phase=Running", "a", "metadata.name=a,status.phase=Running", nil},
		{"metadata.name=b", "a", "", selectors.ErrNameMismatch},
		{"status.phase=Running", "a", "", selectors.ErrNameMismatch},
		{"metadata.name!=a", "a", "", selectors.ErrNameMismatch},
	}
	for _, test := range tests {
		parsed, err := selectors.ParseFields(test.selector)
		if err != nil {
			t.Fatal(err)
		}
		pinned, err := selectors.PinName(parsed, test.name)
		if !errors.Is(err, test.err) || (err == nil && pinned.String() != test.want) {
			t.Errorf("PinName(%q, %q) = %v, %v; want %q, %v", test.selector, test.name, pinned, err, test.want, test.err)
		}
	}
	if pinned, err := selectors.PinName(nil, "a"); err != nil || pinned.String() != "metadata.name=a" {
		t.Errorf("PinName(nil, a) = %v, %v", pinned, err)
	}
	if got, want := selectors.ErrNameMismatch.Error(), "fieldSelector metadata.name doesn't match requested name"; got != want {
		t.Errorf("got ErrNameMismatch %q, kube-apiserver has %q", got, want)
	}
}

// FuzzParseLabels: these parsers accept and reject the same inputs as apimachinery's. A predicate can be built from
// every valid selector.
func FuzzParseLabels(f *testing.F) {
	for _, seed := range []string{"", "a=b", "a in (b,,c),!d", "x>1,x<9", "a notin ()", "a,", "in in (in)", "a/b/c=d"} {
		f.Add(seed)
	}
	custom := selectors.ForCustom(schema.GroupVersionKind{Kind: "Widget"}, selectors.Cluster, nil)
	f.Fuzz(func(t *testing.T, text string) {
		selector, err := selectors.ParseLabels(text)
		if err != nil {
			var invalid *selectors.InvalidError
			if !errors.As(err, &invalid) || selector != nil {
				t.Fatalf("ParseLabels(%q) = %v, got error of type %T", text, selector, err)
			}
			return
		}
		predicate := custom.Predicate("", selector, nil)
		requirements, _ := selector.Requirements()
		for _, r := range requirements {
			for value := range r.Values() {
				checkLabels(t, predicate, selector, map[string]string{r.Key(): value})
				checkLabels(t, predicate, selector, map[string]string{r.Key(): value + "0"})
			}
		}
		checkLabels(t, predicate, selector, nil)
	})
}

func FuzzParseFields(f *testing.F) {
	for _, seed := range []string{"", "a=b", `metadata.name=a\,b,metadata.name!=c`, "spec.host==n", "status.podIPs=", "x===y", "foo"} {
		f.Add(seed)
	}
	pod := selectors.ForBuiltin(schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, selectors.Namespaced)
	f.Fuzz(func(t *testing.T, text string) {
		selector, err := parseFields(pod, text)
		if err != nil {
			var invalid *selectors.InvalidError
			if !errors.As(err, &invalid) || selector != nil {
				t.Fatalf("ParseFields(%q) = %v, error of type %T", text, selector, err)
			}
			return
		}
		predicate := pod.Predicate("", nil, selector)
		checkFields(t, pod, predicate, selector, fields.Set{})
		set := fields.Set{}
		for _, r := range selector.Requirements() {
			// status.podIPs is the only accepted field for which no object has a value.
			if r.Field != "status.podIPs" {
				set[r.Field] = r.Value
			}
		}
		checkFields(t, pod, predicate, selector, set)
	})
}
