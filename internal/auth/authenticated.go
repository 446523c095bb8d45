package auth

import (
	"errors"
	"net/http"
	"time"
	"unicode/utf8"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/user"
)

var (
	errNoName  = errors.New("user has no name")
	errNotUTF8 = errors.New("user's name, UID, groups or extra are not valid UTF-8")
)

// authenticated returns the caller for a user, or an error if no review could identify that user. A review needs a
// name. Certificates and headers can contain bytes that are not UTF-8. In the JSON of a review, U+FFFD would replace
// each of these bytes, so the upstream would decide on another user.
func authenticated(info user.Info, way Way, until time.Time) (*Caller, error) {
	switch {
	case info.GetName() == "":
		return nil, notAuthenticated(errNoName)
	case !isUTF8(info):
		return nil, notAuthenticated(errNotUTF8)
	default:
		return NewCaller(withGroup(info), way, until), nil
	}
}

func isUTF8(info user.Info) bool {
	ok := utf8.ValidString(info.GetName()) && utf8.ValidString(info.GetUID())
	for _, group := range info.GetGroups() {
		ok = ok && utf8.ValidString(group)
	}
	for key, values := range info.GetExtra() {
		ok = ok && utf8.ValidString(key)
		for _, value := range values {
			ok = ok && utf8.ValidString(value)
		}
	}
	return ok
}

// withGroup adds the group system:authenticated where kube-apiserver does.
func withGroup(info user.Info) user.Info {
	adder := group.NewAuthenticatedGroupAdder(authenticator.RequestFunc(func(*http.Request) (*authenticator.Response, bool,
		error) {
		return &authenticator.Response{User: info}, true, nil
	}))
	response, _, _ := adder.AuthenticateRequest(nil) // AuthenticateRequest returns the response of the function above
	return response.User
}
