package bookmarks

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// Style is how a kind's JSON orders its keys (semantics 7).
type Style int

const (
	// Builtin is the order of Go struct fields: kind first, resourceVersion before annotations.
	Builtin Style = iota
	// Custom is the order of custom resources: keys sorted, so apiVersion first, annotations before resourceVersion.
	Custom
)

// endAnnotation is the annotation of an InitialEventsEnd bookmark; endKey is its key.
const (
	endAnnotation = `"` + endKey + `":"true"`
	endKey        = "k8s.io/initial-events-end"
)

// Template renders the bookmarks of one kind in one version. It is immutable and safe for concurrent use. The zero
// value is unusable: use Learn or Minimal.
type Template struct {
	kinds [2]ends // indexed by Kind
}

// ends contains a bookmark's text before and after the digits of its resourceVersion.
type ends struct {
	head, tail string
}

// Minimal makes a template with only type meta and metadata, for an upstream that sends no bookmark to learn from. Such
// a bookmark is complete for custom resources. For a built-in kind, the other fields of an empty object are missing.
func Minimal(style Style, apiVersion, kind string) *Template {
	p := parts{style: style, after: `}`}
	if style == Custom {
		p.before = `{"apiVersion":` + quote(apiVersion) + `,"kind":` + quote(kind) + `,"metadata":`
	} else {
		p.before = `{"kind":` + quote(kind) + `,"apiVersion":` + quote(apiVersion) + `,"metadata":`
	}
	return p.template()
}

// Append appends the bookmark of a kind at a resourceVersion to dst, as one JSON object without a newline. It does not
// allocate when dst has enough capacity.
func (t *Template) Append(dst []byte, rv uint64, kind Kind) []byte {
	f := &t.kinds[kind]
	dst = append(dst, f.head...)
	dst = strconv.AppendUint(dst, rv, 10)
	return append(dst, f.tail...)
}

type parts struct {
	style         Style
	before, after string // text around the value of metadata
	between       string // member that servers before 1.34 add, `"creationTimestamp":null`, or empty
	// extra contains the annotations of both kinds of bookmarks, each as `"key":"value"`. The upstream adds some
	// annotations when it converts an empty object (a DaemonSet's deprecated.daemonset.template.generation).
	extra []string
}

func (p *parts) template() *Template {
	return &Template{kinds: [2]ends{
		Plain:            p.ends(annotations(p.extra)),
		InitialEventsEnd: p.ends(annotations(append([]string{endAnnotation}, p.extra...))),
	}}
}

// annotations returns metadata.annotations, with sorted keys in either style, or "" if there are none.
func annotations(all []string) string {
	if len(all) == 0 {
		return ""
	}
	return `"annotations":{` + strings.Join(slices.Sorted(slices.Values(all)), ",") + `}`
}

// ends returns the text of a bookmark before and after the digits of its resourceVersion. The argument is the result of
// annotations. In either style, p.between is placed between resourceVersion and annotations.
func (p *parts) ends(annotated string) ends {
	const open, closing = `"resourceVersion":"`, `"`
	if p.style == Custom {
		return ends{
			head: p.before + "{" + followed(annotated) + followed(p.between) + open,
			tail: closing + "}" + p.after,
		}
	}
	return ends{
		head: p.before + "{" + open,
		tail: closing + preceded(p.between) + preceded(annotated) + "}" + p.after,
	}
}

func followed(member string) string {
	if member == "" {
		return ""
	}
	return member + ","
}

func preceded(member string) string {
	if member == "" {
		return ""
	}
	return "," + member
}

// quote encodes a JSON string as kube-apiserver does, with HTML escaping (semantics 7.1).
func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic("BUG: bookmarks: encode string as JSON: " + err.Error())
	}
	return string(b)
}
