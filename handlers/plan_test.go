package handlers

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/selectors"
)

// resources with different plans: namespaced, cluster-scoped, without a watch cache.
var (
	configMaps   = upstream.Resource{GVR: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Namespaced: true}
	nodes        = upstream.Resource{GVR: schema.GroupVersionResource{Version: "v1", Resource: "nodes"}}
	eventObjects = upstream.Resource{GVR: schema.GroupVersionResource{Version: "v1", Resource: "events"}, Namespaced: true}
)

// read parses a path with its query as a read of a resource.
func read(t *testing.T, resource upstream.Resource, target string) (*Request, error) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, target, nil)
	info, err := paths.NewRequestInfo(r)
	if err != nil {
		t.Fatal(err)
	}
	q := &Request{info: info, resource: resource, Namespace: info.Namespace, Name: info.Name, query: r.URL.Query()}
	if q.Options, err = readOptions(info.Verb, q.query); err != nil {
		return nil, err
	}
	scope := selectors.Cluster
	if resource.Namespaced {
		scope = selectors.Namespaced
	}
	return q, q.selectBy(selectors.ForBuiltin(resource.GVK, scope))
}

// The table of semantics 2.1: the combined meaning of the four parameters.
func TestPlan(t *testing.T) {
	token := encodeToken(7, "default/m", "default/", upstream.CacheStyle)
	latest := raw(`{"v":"meta.k8s.io/v1","rv":-1,"start":"/m\u0000"}`)
	const all, m = "default/", "default/m\x00"
	for _, c := range []struct {
		rv, match, limit, next string
		want                   plan
	}{
		{"", "", "", "", plan{kind: mostRecent, from: all}},
		{"", "", "5", "", plan{kind: mostRecent, from: all, limit: 5}},
		{"", "", "-5", "", plan{kind: mostRecent, from: all}},
		{"", "", "0", "", plan{kind: mostRecent, from: all}},
		{"0", "", "", "", plan{kind: anyAge, from: all}},
		{"0", "", "5", "", plan{kind: anyAge, from: all}},
		{"0", "NotOlderThan", "", "", plan{kind: anyAge, from: all}},
		{"0", "NotOlderThan", "5", "", plan{kind: anyAge, from: all}},
		{"9", "", "", "", plan{kind: notOlderThan, rv: 9, from: all}},
		{"9", "", "0", "", plan{kind: notOlderThan, rv: 9, from: all}},
		{"9", "", "-1", "", plan{kind: notOlderThan, rv: 9, from: all}},
		{"9", "", "5", "", plan{kind: exactly, rv: 9, from: all, limit: 5}},
		{"9", "NotOlderThan", "", "", plan{kind: notOlderThan, rv: 9, from: all}},
		{"9", "NotOlderThan", "5", "", plan{kind: notOlderThan, rv: 9, from: all, limit: 5}},
		{"9", "Exact", "", "", plan{kind: exactly, rv: 9, from: all}},
		{"9", "Exact", "5", "", plan{kind: exactly, rv: 9, from: all, limit: 5}},
		{"009", "Exact", "5", "", plan{kind: exactly, rv: 9, from: all, limit: 5}},
		{"", "", "5", token, plan{kind: exactly, rv: 7, from: m, limit: 5}},
		{"", "", "", token, plan{kind: exactly, rv: 7, from: m}},
		{"", "", "5", latest, plan{kind: mostRecent, from: m, limit: 5}},
		{"0", "", "5", token, plan{kind: exactly, rv: 7, from: m}},
		{"0", "", "5", latest, plan{kind: mostRecent, from: m}},
	} {
		query := url.Values{}
		for name, value := range map[string]string{"resourceVersion": c.rv, "resourceVersionMatch": c.match, "limit": c.limit, "continue": c.next} {
			if value != "" {
				query.Set(name, value)
			}
		}
		q, err := read(t, configMaps, "/api/v1/namespaces/default/configmaps?"+query.Encode())
		if err != nil {
			t.Errorf("%s: got %v", query.Encode(), err)
			continue
		}
		got, to, err := planList(q)
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(plan{})); diff != "" || err != nil || to.forwards() {
			t.Errorf("%s: got %v\n%s", query.Encode(), err, diff)
		}
		q.resource = eventObjects
		got, to, err = planList(q)
		if c.rv == "0" && c.limit != "" {
			c.want.limit = 5 // reads from etcd use the limit at version 0
		}
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(plan{})); diff != "" || err != nil || to.forwards() {
			t.Errorf("events %s: got %v\n%s", query.Encode(), err, diff)
		}
	}
}

// Reads of one name are reads of one key if the key is known. An exact version of one key is always read from etcd.
func TestPlanOfAPinnedName(t *testing.T) {
	token := encodeToken(7, "default/m", "default/", upstream.CacheStyle)
	for _, c := range []struct {
		resource upstream.Resource
		target   string
		forward  bool
		want     readKind
	}{
		{configMaps, "/api/v1/namespaces/default/configmaps?fieldSelector=metadata.name%3Da&resourceVersion=9&resourceVersionMatch=Exact", true, 0},
		{configMaps, "/api/v1/namespaces/default/configmaps?fieldSelector=metadata.name%3Da&resourceVersion=9&limit=1", true, 0},
		{configMaps, "/api/v1/configmaps?fieldSelector=metadata.name%3Da,metadata.namespace%3Dx&resourceVersion=9&limit=1", true, 0},
		{nodes, "/api/v1/nodes?fieldSelector=metadata.name%3Da&resourceVersion=9&limit=1", true, 0},
		{configMaps, "/api/v1/configmaps?fieldSelector=metadata.name%3Da&resourceVersion=9&limit=1", false, exactly},
		{configMaps, "/api/v1/namespaces/default/configmaps?fieldSelector=metadata.name%3Da&resourceVersion=9", false, notOlderThan},
		{configMaps, "/api/v1/namespaces/default/configmaps?fieldSelector=metadata.name%3Da", false, mostRecent},
		{configMaps, "/api/v1/namespaces/default/configmaps?fieldSelector=metadata.name%3Da&limit=1", false, mostRecent},
		{configMaps, "/api/v1/namespaces/default/configmaps?fieldSelector=metadata.name%3Da&resourceVersion=0", false, anyAge},
		{configMaps, "/api/v1/namespaces/default/configmaps?fieldSelector=metadata.name%3Da&limit=1&continue=" + token, true, 0},
		{configMaps, "/api/v1/namespaces/default/configmaps?fieldSelector=metadata.name%3Da&continue=" + token, false, exactly},
		{configMaps, "/api/v1/configmaps?fieldSelector=metadata.name%3Da&limit=1&continue=" + token, false, exactly},
		{configMaps, "/api/v1/namespaces/default/configmaps?fieldSelector=metadata.name%21%3Da&resourceVersion=9&limit=1", false, exactly},
	} {
		q, err := read(t, c.resource, c.target)
		if err != nil {
			t.Fatal(err)
		}
		got, to, err := planList(q)
		if err != nil || to.forwards() != c.forward || !c.forward && got.kind != c.want {
			t.Errorf("%s: got %+v, %+v, %v", c.target, got, to, err)
		}
	}
}

// Errors have kube-apiserver's messages (semantics 1.2, 1.4, 1.5, 2.1).
func TestPlanRefusals(t *testing.T) {
	token := encodeToken(7, "default/m", "default/", upstream.CacheStyle)
	const invalid = `ListOptions.meta.k8s.io "" is invalid: `
	for query, want := range map[string]struct {
		code    int32
		message string
	}{
		"resourceVersion=abc":                          {400, `invalid resource version: resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax`},
		"resourceVersion=-1":                           {400, `invalid resource version: resourceVersion: Invalid value: "-1": strconv.ParseUint: parsing "-1": invalid syntax`},
		"resourceVersion=99999999999999999999":         {400, `invalid resource version: resourceVersion: Invalid value: "99999999999999999999": strconv.ParseUint: parsing "99999999999999999999": value out of range`},
		"resourceVersion=9&continue=" + token:          {400, "specifying resource version is not allowed when using continue"},
		"resourceVersion=abc&continue=" + token:        {400, "specifying resource version is not allowed when using continue"},
		"limit=abc":                                    {400, `strconv.ParseInt: parsing "abc": invalid syntax`},
		"limit=":                                       {400, `strconv.ParseInt: parsing "": invalid syntax`},
		"resourceVersionMatch=Exact":                   {422, invalid + "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided"},
		"resourceVersion=0&resourceVersionMatch=Exact": {422, invalid + `resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"`},
		"resourceVersion=1&resourceVersionMatch=foo":   {422, invalid + `resourceVersionMatch: Unsupported value: "foo": supported values: "Exact", "NotOlderThan", ""`},
		"sendInitialEvents=false":                      {422, invalid + "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list"},
		"resourceVersion=1&resourceVersionMatch=Exact&continue=" + token: {422, invalid + "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided"},
	} {
		q, err := read(t, configMaps, "/api/v1/namespaces/default/configmaps?"+query)
		if err == nil {
			_, _, err = planList(q)
		}
		if err == nil {
			t.Errorf("%s: got no error", query)
			continue
		}
		if status := statusOf(err); status.Code != want.code || status.Message != want.message {
			t.Errorf("%s: got %d %s\nwant %d %s", query, status.Code, status.Message, want.code, want.message)
		}
	}
}
