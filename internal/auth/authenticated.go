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
	errNameless  = errors.New("the user has no name")
	errUnsayable = errors.New("the user's name, UID, groups or extra are not UTF-8")
)

// proven makes a caller, unless nobody could decide on it: a review cannot ask about the user without a name, and JSON
// has U+FFFD for every byte that is no UTF-8, so that the upstream would decide on another user. Certificates and
// headers can hold such bytes.
func authenticated(info user.Info, way Way, until time.Time) (*Caller, error) {
	switch {
	case info.GetName() == "":
		return nil, notAuthenticated(errNameless)
	case !isUTF8(info):
		return nil, notAuthenticated(errUnsayable)
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

// withGroup adds system:authenticated where kube-apiserver does.
func withGroup(info user.Info) user.Info {
	adder := group.NewAuthenticatedGroupAdder(authenticator.RequestFunc(func(*http.Request) (*authenticator.Response, bool, error) {
		return &authenticator.Response{User: info}, true, nil
	}))
	response, _, _ := adder.AuthenticateRequest(nil) // as the function above answers
	return response.User
}
