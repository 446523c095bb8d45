package facade

import (
	"context"
	"errors"
	"fmt"

	"github.com/listfacade/listfacade/internal/serviceaccount"
	"github.com/listfacade/listfacade/internal/upstream"
)

// need is a permission that a kubeconfig's user needs, with the consequence of its absence.
type need struct {
	right      upstream.Right
	kubeconfig string // file of the kubeconfig; empty for the upstream that objects are read from
	without    string
}

// needs returns all permissions that the Config requires.
func (c Config) needs() []need {
	if c.Authentication.AnonymousActsAsKubeconfig {
		return readingNeeds()
	}
	var all []need
	add := func(kubeconfig string, right upstream.Right, without string, verbs ...string) {
		for _, verb := range verbs {
			right.Verb = verb
			all = append(all, need{right, kubeconfig, without})
		}
	}
	tokens, rights := c.Authentication.Kubeconfig, c.Authorization.Kubeconfig
	add(tokens, upstream.Right{Group: "authentication.k8s.io", Resource: "tokenreviews"}, "no bearer token is accepted",
		"create")
	add(rights, upstream.Right{Group: "authorization.k8s.io", Resource: "subjectaccessreviews"},
		"no caller may read anything", "create")
	if c.Authorization.PassThrough == "impersonate" {
		for _, identities := range []string{"users", "groups"} {
			add("", upstream.Right{Resource: identities},
				"callers with a client certificate cannot read resources that are not cached", "impersonate")
		}
	}
	for _, rules := range []string{"roles", "rolebindings", "clusterroles", "clusterrolebindings"} {
		right := upstream.Right{Group: "rbac.authorization.k8s.io", Resource: rules}
		add("", right, "a revoked permission ends open watches later", "list", "watch")
	}
	if c.Authentication.ClientCAFile == "" || c.Authentication.RequestHeaderCAFile == "" {
		published := upstream.Right{Resource: "configmaps", Namespace: "kube-system",
			Name: "extension-apiserver-authentication"}
		add(tokens, published, "client certificates or front proxies are not accepted", "get")
	}
	if namespace, name, err := c.authorityName(); err == nil {
		for _, resource := range []string{"secrets", "configmaps"} {
			right := upstream.Right{Resource: resource, Namespace: namespace, Name: name}
			add("", right, "a replica waits for the authority of its certificate and does not start", "get", "patch")
		}
	}
	return append(all, readingNeeds()...)
}

// readingNeeds returns the permissions to read the definitions of custom resources, APIServices and the cluster's UID.
func readingNeeds() []need {
	definitions := func(verb string) upstream.Right {
		return upstream.Right{Verb: verb, Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}
	}
	services := func(verb string) upstream.Right {
		return upstream.Right{Verb: verb, Group: "apiregistration.k8s.io", Resource: "apiservices"}
	}
	const late = "a changed definition of a custom resource is noticed late"
	cluster := upstream.Right{Verb: "get", Resource: "namespaces", Name: "kube-system"}
	return []need{
		{right: cluster, without: "a watch may continue in another cluster if the upstream address changes to it"},
		{right: definitions("get"), without: "consistent reads of custom resources are forwarded"},
		{right: definitions("list"), without: late}, {right: definitions("watch"), without: late},
		{right: services("list"), without: "API groups with a dot in their names are not cached, except *.k8s.io"},
		{right: services("watch"), without: "an API that moves to another server stays cached for up to a minute"},
	}
}

func (i *inspection) rights(ctx context.Context) bool {
	for _, n := range i.config.needs() {
		subject := fmt.Sprintf("permission to %s %s", n.right.Verb, n.right.Resource)
		if n.kubeconfig != "" {
			subject += " with " + n.kubeconfig
		}
		has, err := i.has(ctx, n)
		if err == nil && !has {
			err = errors.New("the kubeconfig user lacks this permission; without it " + n.without)
		}
		i.say(subject, err, "granted")
	}
	i.keys(ctx)
	return true
}

// keys writes a note if the keys of service account tokens cannot be read. The facade works without them.
func (i *inspection) keys(ctx context.Context) {
	if !verifiesTokens(i.config.Authentication) {
		return
	}
	for _, path := range []string{serviceaccount.DiscoveryPath, serviceaccount.KeysPath} {
		if _, err := i.client.Get(ctx, upstream.Target{Path: path}, upstream.MediaIssuer, answerLimit); err != nil {
			i.note("service account keys", fmt.Sprintf("each token costs a TokenReview, because %s cannot be read: %v", path, err))
		}
	}
}

// has reports whether the user has the permission. It sends a review to the server of the need's kubeconfig.
func (i *inspection) has(ctx context.Context, n need) (bool, error) {
	if n.kubeconfig == "" {
		return i.client.Has(ctx, n.right)
	}
	config, err := RESTConfig(Config{Kubeconfig: n.kubeconfig})
	if err != nil {
		return false, err
	}
	client, err := upstream.NewClient(config, upstream.NewHop())
	if err != nil {
		return false, err
	}
	defer client.CloseIdle()
	return client.Has(ctx, n.right)
}
