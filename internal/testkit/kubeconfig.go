package testkit

import (
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// WriteInsecureKubeconfig writes a kubeconfig without credentials that does not verify the server's certificate. The
// file exists until the test ends.
func WriteInsecureKubeconfig(t testing.TB, server string) string {
	t.Helper()
	return writeKubeconfig(t, &api.Cluster{Server: server, InsecureSkipTLSVerify: true}, nil)
}

// WriteKubeconfig writes a client configuration to a file and returns its path. The file exists until the test ends.
func WriteKubeconfig(t testing.TB, config *rest.Config) string {
	t.Helper()
	user := &api.AuthInfo{
		ClientCertificate: config.CertFile, ClientCertificateData: config.CertData, ClientKey: config.KeyFile,
		ClientKeyData: config.KeyData,
		Token:         config.BearerToken,
	}
	if user.Token == "" && user.ClientCertificate == "" && user.ClientCertificateData == nil {
		user.Token = "none" // without credentials kubectl prompts for a password
	}
	return writeKubeconfig(t, &api.Cluster{
		Server: config.Host, CertificateAuthority: config.CAFile, CertificateAuthorityData: config.CAData,
	}, user)
}

// writeKubeconfig writes a file with one cluster and, unless user is nil, one user.
func writeKubeconfig(t testing.TB, cluster *api.Cluster, user *api.AuthInfo) string {
	t.Helper()
	const name = "server"
	file := api.NewConfig()
	file.Clusters[name] = cluster
	file.Contexts[name] = &api.Context{Cluster: name}
	if user != nil {
		file.AuthInfos[name] = user
		file.Contexts[name].AuthInfo = name
	}
	file.CurrentContext = name
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		t.Fatal(err)
	}
	return path
}
