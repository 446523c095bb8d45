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

// endAnnotation is what a bookmark of form InitialEventsEnd has and a plain one lacks; endKey is its key.
const (
	endAnnotation = `"` + endKey + `":"true"`
	endKey        = "k8s.io/initial-events-end"
)

// Template renders the bookmarks of one kind in one version. Immutable; safe for concurrent use. The zero value is
// unusable; Learn and Minimal make templates.
type Template struct {
	kinds [2]ends // by Kind
}

// ends are a bookmark's text before and after its resourceVersion's digits.
type ends struct {
	head, tail string
}

// Minimal makes a template for an upstream that sends no bookmark to learn from: type meta and metadata only. That is
// all that a custom resource's bookmark ever has; a built-in kind's lacks the fields that its empty object would show.
func Minimal(style Style, apiVersion, kind string) *Template {
	p := parts{style: style, after: `}`}
	if style == Custom {
		p.before = `{"apiVersion":` + quote(apiVersion) + `,"kind":` + quote(kind) + `,"metadata":`
	} else {
		p.before = `{"kind":` + quote(kind) + `,"apiVersion":` + quote(apiVersion) + `,"metadata":`
	}
	return p.template()
}

// Append appends the bookmark of the given form at a resourceVersion, as one JSON object without a newline, and returns
// the extended slice. It does not allocate when dst has room.
func (t *Template) Append(dst []byte, rv uint64, form Kind) []byte {
	f := &t.kinds[form]
	dst = append(dst, f.head...)
	dst = strconv.AppendUint(dst, rv, 10)
	return append(dst, f.tail...)
}

// parts is what a template is made of.
type parts struct {
	style         Style
	before, after string // the text around metadata's value
	between       string // what servers before 1.34 also put into it, `"creationTimestamp":null`, or empty
	// extra are annotations of both forms, each as `"key":"value"`: the upstream makes some when it converts even an empty
	// object (a DaemonSet's deprecated.daemonset.template.generation).
	extra []string
}

func (p *parts) template() *Template {
	return &Template{kinds: [2]ends{
		Plain: p.ends(annotations(p.extra)), InitialEventsEnd: p.ends(annotations(append([]string{endAnnotation}, p.extra...))),
	}}
}

// annotations writes metadata.annotations, whose keys are sorted in either style; empty when there are none.
func annotations(all []string) string {
	if len(all) == 0 {
		return ""
	}
	return `"annotations":{` + strings.Join(slices.Sorted(slices.Values(all)), ",") + `}`
}

// ends writes metadata in the order of the style, which has between in the middle either way.
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

// followed and preceded add the comma that parts an optional member from its neighbour.
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

// quote writes a JSON string as kube-apiserver does, HTML escaping included (semantics 7.1).
func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic("BUG: a Go string has no JSON form: " + err.Error())
	}
	return string(b)
}
