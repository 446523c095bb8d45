package identities

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// The query decides whether a request is allowed. Both servers must parse it alike, and the facade must serve exactly
// the selection that it authorized.

const inFirstNamespace = "/api/v1/namespaces/oracle/configmaps"

// newFacade starts a facade in front of the world's cluster.
func newFacade(t *testing.T) (*world, *suite.Facade) {
	t.Helper()
	w := newWorld(t)
	return w, suite.StartDelegating(t, w.Cluster)
}

func TestReadsOfOtherNamespacesAreForbidden(t *testing.T) {
	w, f := newFacade(t)
	o := w.as(t, f, "nadia")
	get(t, o, http.StatusForbidden, "/api/v1/configmaps")
	get(t, o, http.StatusForbidden, "/api/v1/namespaces/oracle-b/configmaps")
	get(t, o, http.StatusOK, inFirstNamespace)
}

func TestNodeReadsOnlyItsOwnPods(t *testing.T) {
	w, f := newFacade(t)
	o := w.as(t, f, "node-0")
	saw := watches(o.Facade)
	for selector, code := range map[string]int{
		"spec.nodeName=node-0": http.StatusOK, "spec.nodeName=node-1": http.StatusForbidden, "": http.StatusForbidden,
		"spec.nodeName!=node-1": http.StatusForbidden, "spec.nodeName=node-0,spec.nodeName=node-1": http.StatusOK,
		"spec.host=node-0": http.StatusForbidden,
	} {
		path := "/api/v1/pods?fieldSelector=" + selector
		answer := get(t, o, code, path)
		if strings.Contains(selector, ",") && strings.Contains(string(answer.Body), `"uid"`) {
			t.Errorf("%s: not empty: %s", path, head(answer.Body))
		}
		stream(t, o, testkit.Question{Path: path + "&watch=1&timeoutSeconds=1"})
	}
	saw.saw(t, "the facade", []string{podOfNode0})
}

func TestFirstOfTwoFieldSelectorsIsAuthorizedAndServed(t *testing.T) {
	w, f := newFacade(t)
	o := w.as(t, f, "node-0")
	saw := watches(o.Facade)
	get(t, o, http.StatusOK, "/api/v1/pods?fieldSelector=spec.nodeName=node-0&fieldSelector=")
	get(t, o, http.StatusForbidden, "/api/v1/pods?fieldSelector=&fieldSelector=spec.nodeName=node-0")
	saw.saw(t, "the facade", []string{podOfNode0})
}

func TestRightToOneNameAllowsNoOtherName(t *testing.T) {
	w, f := newFacade(t)
	o := w.as(t, f, "nick")
	saw := watches(o.Facade)
	for selection, code := range map[string]int{
		"metadata.name=named": http.StatusOK, "metadata.name=canary": http.StatusForbidden, "metadata.name!=canary": http.StatusForbidden,
		"metadata.name=named&limit=abc": http.StatusForbidden, "metadata.name=named,metadata.name=canary": http.StatusForbidden,
	} {
		path := inFirstNamespace + "?fieldSelector=" + selection
		get(t, o, code, path)
		stream(t, o, testkit.Question{Path: path + "&watch=1&timeoutSeconds=1"})
	}
	get(t, o, http.StatusOK, inFirstNamespace+"/named")
	get(t, o, http.StatusForbidden, inFirstNamespace+"/canary")
	saw.saw(t, "the facade", []string{inNamed})
}

func TestNamespaceInFieldSelectorDoesNotNarrowAuthorization(t *testing.T) {
	w, f := newFacade(t)
	get(t, w.as(t, f, "nadia"), http.StatusForbidden, "/api/v1/configmaps?fieldSelector=metadata.namespace=oracle")
}

func TestUnknownAndMalformedSelectorsAreRefused(t *testing.T) {
	w, f := newFacade(t)
	o := w.as(t, f, "admin")
	for _, resource := range []string{"/api/v1/configmaps", "/api/v1/pods", "/apis/ex.io/v1/widgets"} {
		for _, selector := range []string{"fieldSelector=bogus=x", "fieldSelector=metadata.labels=x", "fieldSelector=x", "labelSelector=a==b==c", "labelSelector=a%20b"} {
			path := resource + "?" + selector
			get(t, o, http.StatusBadRequest, path)
			get(t, o, http.StatusBadRequest, path+"&resourceVersion=0")
			stream(t, o, testkit.Question{Path: path + "&watch=1&timeoutSeconds=1"})
		}
	}
}

// Above Go's limit of query parameters the selector is lost, and with it the right. A forwarded query is the parsed
// one.
func TestAmbiguousQueriesAreForwardedAsParsed(t *testing.T) {
	w := newWorld(t)
	way := newRoad(t, w)
	f := suite.LaunchDelegating(t, way.kubeconfig)
	f.AwaitReady(t)
	o := w.as(t, f, "node-0")
	saw := watches(o.Facade)
	for _, parameters := range []int{101, 9_998, 10_001} {
		var query strings.Builder
		query.WriteString("/api/v1/pods?fieldSelector=spec.nodeName=node-0")
		for i := range parameters {
			fmt.Fprintf(&query, "&x%d=1", i)
		}
		q := testkit.Question{Path: query.String()}
		want, got := o.Upstream.MustAsk(t, q), o.Facade.MustAsk(t, q)
		if want.Code != got.Code && got.Code != http.StatusBadRequest && got.Code != http.StatusRequestURITooLong {
			t.Errorf("%d parameters: upstream %d, facade %d %s", parameters, want.Code, got.Code, head(got.Body))
		}
	}
	get(t, o, http.StatusForbidden, "/api/v1/pods?limit=1;fieldSelector=spec.nodeName=node-0")
	get(t, o, http.StatusForbidden, "/api/v1/pods?%zz&fieldSelector=spec.nodeName%zz=node-0")
	saw.saw(t, "the facade", nil)

	way.since()
	const secrets = "/api/v1/namespaces/oracle/secrets"
	get(t, w.as(t, f, "robot"), http.StatusOK, secrets+"?labelSelector=a;limit=1&fieldSelector=metadata.name=canary&fieldSelector=&%zz&limit=5")
	all := forwarded(way.since(), secrets)
	if len(all) == 0 {
		t.Error("the facade forwarded no request")
	}
	for _, p := range all {
		if p.URL.RawQuery != p.URL.Query().Encode() || p.URL.Query().Get("fieldSelector") != "metadata.name=canary" {
			t.Errorf("forwarded query is %q, want the parsed query", p.URL.RawQuery)
		}
	}
}
