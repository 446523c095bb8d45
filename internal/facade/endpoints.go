package facade

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"go.uber.org/zap"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/upstream"
)

// newEndpoints are the several addresses of the upstream, and the configuration of clients that ask one of them; nil
// and the same configuration where there is one address.
func newEndpoints(c Config, config *rest.Config, hop upstream.Hop, log *zap.Logger) (*upstream.Endpoints, *rest.Config, error) {
	if len(c.Upstream) < 2 {
		return nil, config, nil
	}
	endpoints, err := upstream.NewEndpoints(c.Upstream, config, hop, func(m upstream.Move) {
		log.Warn("another kube-apiserver is asked", zap.String("from", m.From), zap.String("to", m.To), zap.Error(m.Why))
	})
	if err != nil {
		return nil, nil, fmt.Errorf("prepare to ask --upstream: %w", err)
	}
	return endpoints, endpoints.Config(config), nil
}

// validateUpstream refuses addresses to which credentials would go unprotected, and one that is there twice.
func (c Config) validateUpstream() error {
	for i, address := range c.Upstream {
		u, err := url.Parse(address)
		if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return fmt.Errorf("--upstream %q: a URL as in https://10.0.0.1:6443", address)
		}
		if slices.ContainsFunc(c.Upstream[:i], func(other string) bool { return strings.EqualFold(hostOf(other), u.Host) }) {
			return fmt.Errorf("--upstream: %s is there twice", u.Host)
		}
	}
	return nil
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// endpointStates are what metrics say of the endpoints; none where there is one address.
func (f *Facade) endpointStates() (all []observe.Endpoint) {
	if f.endpoints == nil {
		return nil
	}
	for _, one := range f.endpoints.States() {
		shown := observe.Endpoint{Host: one.Host, InUse: one.InUse, Ready: one.Ready}
		if one.Why != nil {
			shown.Why = reason(one.Why)
		}
		all = append(all, shown)
	}
	return all
}

// endpoints tries each of several addresses, and whether all lead to one cluster. Those that do not answer are no harm
// to what is asked of the others.
func (i *inspection) endpoints(ctx context.Context) bool {
	if len(i.config.Upstream) < 2 {
		return true
	}
	first, answer := "", ""
	for _, address := range i.config.Upstream {
		uid, err := i.endpoint(ctx, address)
		what := "endpoint " + address
		switch {
		case err != nil:
			i.note(what, err.Error())
			continue
		case first != "" && uid != "" && uid != first:
			i.say(what, errors.New("it leads to another cluster than those before"), "")
			continue
		}
		i.say(what, nil, "answers")
		first, answer = cmp.Or(first, uid), cmp.Or(answer, address)
	}
	if answer == "" {
		return i.say("upstream", errors.New("none of --upstream answers"), "")
	}
	i.config.Upstream = []string{answer} // of which the rest is asked
	return true
}

// endpoint asks one address of which cluster it is; empty when it does not tell.
func (i *inspection) endpoint(ctx context.Context, address string) (string, error) {
	config, err := RESTConfig(i.config)
	if err != nil {
		return "", err
	}
	config.Host = address
	client, err := upstream.NewClient(config, upstream.NewHop())
	if err != nil {
		return "", err
	}
	defer client.CloseIdle()
	if _, err := client.ServerVersion(ctx); err != nil {
		return "", err
	}
	uid, err := client.ClusterUID(ctx)
	var refused *upstream.StatusError
	if errors.As(err, &refused) {
		err = nil
	}
	return uid, err
}
