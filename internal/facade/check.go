package facade

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/reflector"
	"github.com/listfacade/listfacade/internal/upstream"
)

// ErrCheck says that something of what Check looked at would not work.
var ErrCheck = errors.New("not everything would work")

// checkWait bounds what the upstream may take for all of it.
const checkWait = time.Minute

// metadataOnly asks for a list without what its objects say.
const metadataOnly = upstream.MediaJSON + ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

// answerLimit is how many bytes an answer may have that Check looks into.
const answerLimit = 1 << 20

// inspection is one run of Check.
type inspection struct {
	config  Config
	rest    *rest.Config
	client  *upstream.Client
	catalog *upstream.Catalog
	out     io.Writer
	version string // the upstream's
	failed  int
}

// Check tells, a line each, what the process would do with a Config, its kubeconfigs and their rights, and serves
// nothing: whom it would read, as whom, what it lacks, which facades it would be filled from, what it would cache and
// how much that is, what it would leave and take of that, with which certificate and how much memory. It fails with
// ErrCheck when something of that would not work.
func Check(ctx context.Context, c Config, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, checkWait)
	defer cancel()
	i := &inspection{config: c, out: out}
	for _, look := range []func(context.Context) bool{
		i.settings, i.endpoints, i.upstream, i.identity, i.rights, i.peers, i.resources, i.snapshots, i.certificate, i.memory,
	} {
		if !look(ctx) {
			break // what comes after it needs it
		}
	}
	if i.failed > 0 {
		return fmt.Errorf("%w: %d of these failed", ErrCheck, i.failed)
	}
	return nil
}

// say writes a line about something, and returns whether it would work.
func (i *inspection) say(what string, err error, format string, args ...any) bool {
	if err != nil {
		i.failed++
		_, _ = fmt.Fprintf(i.out, "FAIL  %s: %v\n", what, err) // whoever reads it is gone if it cannot be written
		return false
	}
	_, _ = fmt.Fprintf(i.out, "ok    %s: %s\n", what, fmt.Sprintf(format, args...))
	return true
}

// note writes a line about something that works, and that may not be meant.
func (i *inspection) note(what, text string) { _, _ = fmt.Fprintf(i.out, "note  %s: %s\n", what, text) }

func (i *inspection) settings(context.Context) bool {
	if !i.say("configuration", i.config.Validate(), "can be meant") {
		return false
	}
	if i.config.Authentication.AnonymousActsAsKubeconfig {
		i.note("callers", "not authenticated: everybody who can reach the address reads with the rights of the kubeconfig's user")
	}
	return true
}

func (i *inspection) upstream(ctx context.Context) bool {
	err := i.connect()
	var info version.Info
	if err == nil {
		err = i.ask(ctx, "/version", nil, upstream.MediaJSON, &info)
	}
	if err == nil {
		err = i.catalog.Refresh(ctx)
	}
	if err != nil {
		return i.say("upstream", err, "")
	}
	i.version = info.GitVersion
	return i.say("upstream", nil, "kube-apiserver %s at %s", info.GitVersion, i.rest.Host)
}

func (i *inspection) connect() (err error) {
	if i.rest, err = RESTConfig(i.config); err != nil {
		return err
	}
	hop := upstream.NewHop()
	if i.client, err = upstream.NewClient(i.rest, hop); err != nil {
		return err
	}
	i.catalog = upstream.NewCatalog(i.client)
	return nil
}

// ask reads an answer of the upstream's in JSON.
func (i *inspection) ask(ctx context.Context, path string, query url.Values, accept string, into any) error {
	body, err := i.client.Get(ctx, upstream.Target{Path: path, Query: query}, accept, answerLimit)
	if err == nil {
		err = json.Unmarshal(body, into)
	}
	return err
}

// identity says who the upstream takes the kubeconfig's user for; servers before 1.28 do not tell.
func (i *inspection) identity(ctx context.Context) bool {
	code, body, err := i.client.Post(ctx, "/apis/authentication.k8s.io/v1/selfsubjectreviews",
		[]byte(`{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1"}`))
	if err != nil {
		return i.say("identity", err, "")
	}
	var review struct {
		Status struct {
			UserInfo struct {
				Username string   `json:"username"`
				Groups   []string `json:"groups"`
			} `json:"userInfo"`
		} `json:"status"`
	}
	switch {
	case code == http.StatusUnauthorized:
		return i.say("identity", errors.New("the upstream does not know the kubeconfig's user"), "")
	case code != http.StatusCreated || json.Unmarshal(body, &review) != nil:
		i.note("identity", fmt.Sprintf("the upstream does not tell (%d)", code))
		return true
	}
	user := review.Status.UserInfo
	return i.say("identity", nil, "%s, of %s", user.Username, strings.Join(user.Groups, ", "))
}

// resources are those that are cached from the start.
func (i *inspection) resources(ctx context.Context) bool {
	all := i.config.wanted()
	if len(all) == 0 {
		i.note("preload", "nothing is cached before it is first asked for")
	}
	for _, w := range all {
		text, err := i.resource(ctx, w)
		i.say("resource "+w.name, err, "%s", text)
	}
	i.names()
	return true
}

// names looks whether what is said of resources is said of any.
func (i *inspection) names() {
	said := i.config.uncached()
	for resource := range i.config.Resources {
		said[resource] = true
	}
	for _, resource := range slices.SortedFunc(maps.Keys(said), compareResources) {
		gvr, err := i.catalog.Match(resource.String())
		if err == nil && gvr.GroupResource() != resource {
			err = fmt.Errorf("it is %s", gvr.GroupResource())
		}
		if err != nil {
			i.note("resource "+resource.String(), fmt.Sprintf("what is said of it means nothing now: %v", err))
		}
	}
}

func (i *inspection) resource(ctx context.Context, w wanted) (string, error) {
	gvr, err := i.catalog.Match(w.name)
	if err != nil {
		return "", err
	}
	resource, _, err := i.catalog.Lookup(ctx, gvr)
	if err != nil {
		return "", err
	}
	if i.config.uncached()[gvr.GroupResource()] {
		return "", errors.New("it is to be cached from the start, and never")
	}
	denied, err := i.client.Denies(ctx, resource)
	if err == nil && denied {
		err = errors.New("the kubeconfig's user may not list and watch all of it")
	}
	if err != nil {
		return "", err
	}
	var in []string
	for _, encoding := range w.in {
		if reflector.Offers(resource, encoding) {
			in = append(in, encoding.Name())
		}
	}
	if len(in) == 0 {
		return "", errors.New("it can be cached in none of the encodings")
	}
	var list metav1.PartialObjectMetadataList
	if err := i.ask(ctx, resource.Path(""), url.Values{"limit": {"1"}}, metadataOnly, &list); err != nil {
		return "", err
	}
	objects := int64(len(list.Items))
	if rest := list.RemainingItemCount; rest != nil {
		objects += *rest
	}
	return fmt.Sprintf("%d objects of %s, cached in %s from the start", objects, gvr.GroupVersion(), strings.Join(in, " and ")), nil
}

// certificate looks at the serving pair. One that would be made is not made for that.
func (i *inspection) certificate(context.Context) bool {
	if i.config.CertFile == "" {
		i.note("certificate", "a self-signed pair in --cert-dir "+i.config.CertDir+", which no client knows by itself")
		return true
	}
	pair, err := newServingPair(i.config, zap.NewNop())
	if err != nil {
		return i.say("certificate", err, "")
	}
	leaf := pair.now.Load().Leaf
	if time.Now().After(leaf.NotAfter) || time.Now().Before(leaf.NotBefore) {
		err = fmt.Errorf("it is valid from %s to %s", leaf.NotBefore.Format(time.RFC3339), leaf.NotAfter.Format(time.RFC3339))
	}
	return i.say("certificate", err, "for %s, until %s", strings.Join(leaf.DNSNames, ", "), leaf.NotAfter.Format(time.RFC3339))
}

func (i *inspection) memory(context.Context) bool {
	bytes, from := i.config.MemoryBudget.resolve()
	switch {
	case bytes == 0:
		i.note("memory", "any amount, by "+from)
	case bytes < smallestMemory:
		return i.say("memory", fmt.Errorf("%d bytes, by %s, are less than a facade works with: %d", bytes, from, smallestMemory), "")
	default:
		return i.say("memory", nil, "%d MiB, by %s", bytes>>20, from)
	}
	return true
}
