package facade

import (
	"context"
	"errors"
	"fmt"

	"github.com/listfacade/listfacade/internal/upstream"
)

// need is a right of a kubeconfig's user, and what does not work without it.
type need struct {
	right      upstream.Right
	kubeconfig string // a file; empty for how the upstream is reached that is read
	without    string
}

// needs are the rights to ask who callers are and what they may do, and how resources are defined.
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
	add(tokens, upstream.Right{Group: "authentication.k8s.io", Resource: "tokenreviews"}, "no token is known", "create")
	add(rights, upstream.Right{Group: "authorization.k8s.io", Resource: "subjectaccessreviews"}, "nobody may read anything", "create")
	if c.Authorization.PassThrough == "impersonate" {
		for _, who := range []string{"users", "groups"} {
			add("", upstream.Right{Resource: who}, "who has a certificate is not answered what is not cached", "impersonate")
		}
	}
	for _, rules := range []string{"roles", "rolebindings", "clusterroles", "clusterrolebindings"} {
		right := upstream.Right{Group: "rbac.authorization.k8s.io", Resource: rules}
		add("", right, "a right that was taken ends open watches later", "list", "watch")
	}
	if c.Authentication.ClientCAFile == "" || c.Authentication.RequestHeaderCAFile == "" {
		published := upstream.Right{Resource: "configmaps", Namespace: "kube-system", Name: "extension-apiserver-authentication"}
		add(tokens, published, "no client certificate is known", "get")
	}
	return append(all, readingNeeds()...)
}

// readingNeeds are the rights to learn what custom resources look like, which resources other servers answer for, and
// which cluster it is.
func readingNeeds() []need {
	definitions := func(verb string) upstream.Right {
		return upstream.Right{Verb: verb, Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}
	}
	services := func(verb string) upstream.Right {
		return upstream.Right{Verb: verb, Group: "apiregistration.k8s.io", Resource: "apiservices"}
	}
	const late = "a custom resource that is defined in another way is noticed late"
	cluster := upstream.Right{Verb: "get", Resource: "namespaces", Name: "kube-system"}
	return []need{
		{right: cluster, without: "a watch may go on in another cluster, if the address leads there"},
		{right: definitions("get"), without: "reads of the most recent state of custom resources are passed on"},
		{right: definitions("list"), without: late}, {right: definitions("watch"), without: late},
		{right: services("list"), without: "groups whose names do not end in .k8s.io are not cached"},
		{right: services("watch"), without: "an API that another server takes over is cached for up to a minute longer"},
	}
}

func (i *inspection) rights(ctx context.Context) bool {
	for _, n := range i.config.needs() {
		what := fmt.Sprintf("right to %s %s", n.right.Verb, n.right.Resource)
		if n.kubeconfig != "" {
			what += " with " + n.kubeconfig
		}
		has, err := i.has(ctx, n)
		if err == nil && !has {
			err = errors.New("the kubeconfig's user has it not; without it " + n.without)
		}
		i.say(what, err, "yes")
	}
	return true
}

// has asks the kube-apiserver of the need's kubeconfig.
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
