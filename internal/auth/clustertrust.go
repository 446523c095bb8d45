package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// clusterTrust is what the upstream's ConfigMap says of whose certificates count. kube-apiserver writes it for the
// servers that delegate to it.
type clusterTrust struct {
	clientCA, proxyCA []byte // in PEM; nil if there is none
	proxyNames        []string
	proxyHeaders      ProxyHeaders
	// unread and proxiesUnread: it is not known what it says, of all and of front proxies.
	unread, proxiesUnread bool
}

const trustConfigMap = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"

var errNoConfigMap = errors.New("the upstream has no ConfigMap kube-system/extension-apiserver-authentication that the facade may read")

// readCluster reads the ConfigMap; errNoConfigMap says that there is none for the facade. It may be there where the
// facade must not read it.
func readCluster(ctx context.Context, upstream Getter) (clusterTrust, error) {
	ctx, cancel := context.WithTimeout(ctx, trustWait)
	defer cancel()
	code, body, err := upstream.Get(ctx, trustConfigMap)
	switch {
	case err != nil:
		return clusterTrust{unread: true}, fmt.Errorf("read what is trusted: %w", err)
	case code == http.StatusNotFound, code == http.StatusForbidden:
		return clusterTrust{unread: code == http.StatusForbidden}, fmt.Errorf("%w (%d); certificates count with the Role extension-apiserver-authentication-reader", errNoConfigMap, code)
	case code != http.StatusOK:
		return clusterTrust{unread: true}, fmt.Errorf("read what is trusted: the upstream answered %d", code)
	}
	var m struct {
		Data map[string]string `json:"data"`
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return clusterTrust{unread: true}, fmt.Errorf("read what is trusted: %w", err)
	}
	return parseCluster(m.Data)
}

// parseCluster reads the keys that kube-apiserver writes. Lists are JSON.
func parseCluster(data map[string]string) (clusterTrust, error) {
	c := clusterTrust{clientCA: pemIn(data, "client-ca-file")}
	for key, list := range map[string]*[]string{
		"requestheader-allowed-names": &c.proxyNames, "requestheader-username-headers": &c.proxyHeaders.Username,
		"requestheader-uid-headers": &c.proxyHeaders.UID, "requestheader-group-headers": &c.proxyHeaders.Group,
		"requestheader-extra-headers-prefix": &c.proxyHeaders.ExtraPrefix,
	} {
		if data[key] == "" {
			continue
		}
		if err := json.Unmarshal([]byte(data[key]), list); err != nil {
			// Without its lists a bundle would speak for more than was meant.
			return clusterTrust{clientCA: c.clientCA, proxiesUnread: true}, fmt.Errorf("read %s of what is trusted: %w", key, err)
		}
	}
	c.proxyCA = pemIn(data, "requestheader-client-ca-file")
	return c, nil
}

// pemIn is nil only for a key that is not there.
func pemIn(data map[string]string, key string) []byte {
	if pem, ok := data[key]; ok {
		return []byte(pem)
	}
	return nil
}
