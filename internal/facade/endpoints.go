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

	"github.com/listfacade/listfacade/internal/metrics"
	"github.com/listfacade/listfacade/internal/upstream"
)

// newEndpoints returns the upstream's endpoints and a configuration that uses them. With fewer than two addresses it
// returns nil and the given configuration.
func newEndpoints(c Config, config *rest.Config, hop upstream.Hop,
	log *zap.Logger) (*upstream.Endpoints, *rest.Config, error) {
	if len(c.Upstream) < 2 {
		return nil, config, nil
	}
	endpoints, err := upstream.NewEndpoints(c.Upstream, config, hop, func(m upstream.Move) {
		log.Warn("Switched to another kube-apiserver", zap.String("from", m.From), zap.String("to", m.To), zap.Error(m.Why))
	})
	if err != nil {
		return nil, nil, fmt.Errorf("create clients for --upstream: %w", err)
	}
	return endpoints, endpoints.Config(config), nil
}

func (c Config) validateUpstream() error {
	for i, address := range c.Upstream {
		u, err := url.Parse(address)
		if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return fmt.Errorf("--upstream %q: must be a URL such as https://10.0.0.1:6443", address)
		}
		if slices.ContainsFunc(c.Upstream[:i], func(other string) bool { return strings.EqualFold(hostOf(other), u.Host) }) {
			return fmt.Errorf("--upstream: %s is listed twice", u.Host)
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

// endpointStates returns the states of the endpoints; nil if the upstream has one address.
func (f *Facade) endpointStates() (all []metrics.Endpoint) {
	if f.endpoints == nil {
		return nil
	}
	for _, one := range f.endpoints.States() {
		shown := metrics.Endpoint{Host: one.Host, InUse: one.InUse, Ready: one.Ready}
		if one.Why != nil {
			shown.Why = reason(one.Why)
		}
		all = append(all, shown)
	}
	return all
}

// endpoints checks that the addresses of --upstream lead to one cluster. It fails if no address answers.
func (i *inspection) endpoints(ctx context.Context) bool {
	if len(i.config.Upstream) < 2 {
		return true
	}
	first, answer := "", ""
	for _, address := range i.config.Upstream {
		uid, err := i.endpoint(ctx, address)
		subject := "endpoint " + address
		switch {
		case err != nil:
			i.note(subject, err.Error())
			continue
		case first != "" && uid != "" && uid != first:
			i.say(subject, errors.New("endpoint leads to another cluster than the preceding endpoints"), "")
			continue
		}
		i.say(subject, nil, "answers")
		first, answer = cmp.Or(first, uid), cmp.Or(answer, address)
	}
	if answer == "" {
		return i.say("upstream", errors.New("no endpoint of --upstream can be used"), "")
	}
	i.config.Upstream = []string{answer} // used by the following checks
	return true
}

// endpoint returns the UID of the cluster at an address, or "" if the upstream refuses to report the UID.
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
