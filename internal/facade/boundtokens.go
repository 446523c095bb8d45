package facade

import (
	"os"
	"strings"

	"github.com/listfacade/listfacade/internal/auth"
	"github.com/listfacade/listfacade/internal/rbac"
	"github.com/listfacade/listfacade/internal/serviceaccount"
	"github.com/listfacade/listfacade/internal/upstream"
)

// verifiesTokens reports whether the facade verifies bound service account tokens itself. The result is false if
// c.Kubeconfig names a server for token reviews, because tokens may be bound to objects of that server.
func verifiesTokens(c Authentication) bool {
	return !c.AnonymousActsAsKubeconfig && c.ServiceAccountTokens == LocalTokens && c.Kubeconfig == ""
}

func boundTokens(c Authentication, reviewer *upstream.Reviewer, accounts *rbac.Accounts,
	s surroundings) auth.BoundTokens {
	if !verifiesTokens(c) {
		return auth.BoundTokens{}
	}
	return auth.BoundTokens{
		Keys: reviewer.Issuer(),
		Object: func(resource, namespace, name string) (serviceaccount.Object, bool) {
			if resource != "serviceaccounts" {
				return s.objects.find(resource, namespace, name)
			}
			if !accounts.Current() || s.client.Silent() > 0 {
				return serviceaccount.Object{}, false
			}
			return accounts.Find(namespace + "/" + name)
		},
		Own: func() string {
			if s.config.BearerTokenFile == "" {
				return s.config.BearerToken
			}
			token, _ := os.ReadFile(s.config.BearerTokenFile) // an unreadable file counts as no token
			return strings.TrimSpace(string(token))
		},
	}
}
