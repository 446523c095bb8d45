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

// ErrCheck is returned when at least one check of Check failed.
var ErrCheck = errors.New("configuration check failed")

const checkWait = time.Minute

const metadataOnly = upstream.MediaJSON + ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

// answerLimit bounds a response, in bytes.
const answerLimit = 1 << 20

type inspection struct {
	config  Config
	rest    *rest.Config
	client  *upstream.Client
	catalog *upstream.Catalog
	out     io.Writer
	version string // release of the upstream
	failed  int
}

// Check writes a line for each property of a Config that it has checked, such as the upstream, the kubeconfig user's
// permissions, or the journal. It opens no listener. It returns ErrCheck if at least one check failed.
func Check(ctx context.Context, c Config, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, checkWait)
	defer cancel()
	i := &inspection{config: c, out: out}
	for _, look := range []func(context.Context) bool{
		i.settings, i.endpoints, i.upstream, i.identity, i.rights, i.authorizers, i.peers, i.resources, i.journal,
		i.certificate, i.memory,
	} {
		if !look(ctx) {
			break // the later checks depend on this one
		}
	}
	if i.failed > 0 {
		return fmt.Errorf("%w: %d of the checks above failed", ErrCheck, i.failed)
	}
	return nil
}

// say writes FAIL with the error, or ok with the formatted text. It returns true if err is nil.
func (i *inspection) say(subject string, err error, format string, args ...any) bool {
	if err != nil {
		i.failed++
		_, _ = fmt.Fprintf(i.out, "FAIL  %s: %v\n", subject, err) // fails only if the output was closed
		return false
	}
	_, _ = fmt.Fprintf(i.out, "ok    %s: %s\n", subject, fmt.Sprintf(format, args...))
	return true
}

// note writes a line about a possible problem, which does not count as a failed check.
func (i *inspection) note(subject, text string) {
	_, _ = fmt.Fprintf(i.out, "note  %s: %s\n", subject, text)
}

func (i *inspection) settings(context.Context) bool {
	if !i.say("configuration", i.config.Validate(), "valid") {
		return false
	}
	if i.config.Authentication.AnonymousActsAsKubeconfig {
		i.note("callers", "not authenticated: every client that can reach the address reads with the kubeconfig user's permissions")
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

func (i *inspection) ask(ctx context.Context, path string, query url.Values, accept string, into any) error {
	body, err := i.client.Get(ctx, upstream.Target{Path: path, Query: query}, accept, answerLimit)
	if err == nil {
		err = json.Unmarshal(body, into)
	}
	return err
}

// identity writes the name and groups of the kubeconfig user. Servers before 1.28 do not support SelfSubjectReview.
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
		return i.say("identity", errors.New("the upstream does not accept the kubeconfig user's credentials"), "")
	case code != http.StatusCreated || json.Unmarshal(body, &review) != nil:
		i.note("identity", fmt.Sprintf("unknown: the upstream answered SelfSubjectReview with status %d", code))
		return true
	}
	user := review.Status.UserInfo
	return i.say("identity", nil, "%s, in groups %s", user.Username, strings.Join(user.Groups, ", "))
}

func (i *inspection) resources(ctx context.Context) bool {
	all := i.config.wanted()
	if len(all) == 0 {
		i.note("preload", "no resource is cached before its first use")
	}
	for _, w := range all {
		text, err := i.resource(ctx, w)
		i.say("resource "+w.name, err, "%s", text)
	}
	i.names()
	return true
}

func (i *inspection) names() {
	configured := i.config.uncached()
	for resource := range i.config.Resources {
		configured[resource] = true
	}
	for _, resource := range slices.SortedFunc(maps.Keys(configured), compareResources) {
		gvr, err := i.catalog.Match(resource.String())
		if err == nil && gvr.GroupResource() != resource {
			err = fmt.Errorf("the upstream uses this name for %s", gvr.GroupResource())
		}
		if err != nil {
			i.note("resource "+resource.String(), fmt.Sprintf("the settings of this resource have no effect now: %v", err))
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
		return "", errors.New("the resource is both preloaded and uncached")
	}
	denied, err := i.client.Denies(ctx, resource)
	if err == nil && denied {
		err = errors.New("the kubeconfig user lacks permission to list and watch all objects of the resource")
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
		return "", errors.New("the resource is not available in any of the requested encodings")
	}
	var list metav1.PartialObjectMetadataList
	if err := i.ask(ctx, resource.Path(""), url.Values{"limit": {"1"}}, metadataOnly, &list); err != nil {
		return "", err
	}
	objects := int64(len(list.Items))
	if rest := list.RemainingItemCount; rest != nil {
		objects += *rest
	}
	return fmt.Sprintf("%d objects of %s, cached in %s from the start", objects, gvr.GroupVersion(),
		strings.Join(in, " and ")), nil
}

// certificate checks the serving certificate. It creates no self-signed certificate.
func (i *inspection) certificate(ctx context.Context) bool {
	if i.config.SharedAuthority != "" {
		return i.authority(ctx)
	}
	if i.config.CertFile == "" {
		i.note("certificate", "a self-signed pair in --cert-dir "+i.config.CertDir+"; clients must be configured to trust it")
		return true
	}
	pair, err := NewServingPair(i.config, zap.NewNop())
	if err != nil {
		return i.say("certificate", err, "")
	}
	leaf := pair.now.Load().Leaf
	if time.Now().After(leaf.NotAfter) || time.Now().Before(leaf.NotBefore) {
		err = fmt.Errorf("the certificate is valid only from %s to %s", leaf.NotBefore.Format(time.RFC3339),
			leaf.NotAfter.Format(time.RFC3339))
	}
	return i.say("certificate", err, "for %s, until %s", strings.Join(leaf.DNSNames, ", "),
		leaf.NotAfter.Format(time.RFC3339))
}

// authority checks the authority of --shared-authority. It creates no authority.
func (i *inspection) authority(ctx context.Context) bool {
	store, err := newAuthorityStore(i.config, i.rest)
	if err != nil {
		return i.say("certificate", err, "")
	}
	defer store.http.CloseIdleConnections()
	secret, err := readStored[[]byte](ctx, store, "secrets")
	if err == nil && len(secret.Data) == 0 {
		i.note("certificate", "the Secret "+i.config.SharedAuthority+" is empty; the first replica creates an authority")
		return true
	}
	if err != nil {
		return i.say("certificate", err, "")
	}
	authority, err := readAuthority(facadeService, secret.Data[tlsCert], secret.Data[tlsKey])
	if err != nil {
		return i.say("certificate", err, "")
	}
	return i.say("certificate", nil, "for %s, by the authority of Secret %s, until %s", strings.Join(authority.names, ", "),
		i.config.SharedAuthority, authority.cert.NotAfter.Format(time.RFC3339))
}

func (i *inspection) memory(context.Context) bool {
	bytes, from := i.config.MemoryBudget.resolve()
	switch {
	case bytes == 0:
		i.note("memory", "no limit, from "+from)
	case bytes < smallestMemory:
		return i.say("memory", fmt.Errorf("%d bytes, from %s, are less than the minimum of %d", bytes, from,
			smallestMemory), "")
	default:
		return i.say("memory", nil, "%d MiB, from %s", bytes>>20, from)
	}
	return true
}
