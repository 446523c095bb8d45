package pki

import (
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
)

// KeyPair contains the paths of a private and a public key, both PEM.
type KeyPair struct {
	PrivateFile string
	PublicFile  string
}

// NewKeyPair writes a new ECDSA key to dir/name.key and its public key to dir/name.pub. The key signs service account
// tokens and has no certificate.
func NewKeyPair(dir, name string) (KeyPair, error) {
	key, err := newKey()
	if err != nil {
		return KeyPair{}, err
	}
	pair := KeyPair{PrivateFile: filepath.Join(dir, name+".key"), PublicFile: filepath.Join(dir, name+".pub")}
	if err := writePrivateKey(pair.PrivateFile, key); err != nil {
		return KeyPair{}, err
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return KeyPair{}, fmt.Errorf("encode public key %s: %w", name, err)
	}
	return pair, writePEM(pair.PublicFile, "PUBLIC KEY", der, 0o644)
}

func writeCertificate(path string, der []byte) error {
	return writePEM(path, "CERTIFICATE", der, 0o644)
}

func writePrivateKey(path string, key *ecdsa.PrivateKey) error {
	// The encoding is SEC 1 instead of PKCS #8, because older tools support only SEC 1. kube-apiserver supports both for
	// service account keys.
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("encode private key: %w", err)
	}
	return writePEM(path, "EC PRIVATE KEY", der, 0o600)
}

func writePEM(path, block string, der []byte, mode os.FileMode) error {
	data := pem.EncodeToMemory(&pem.Block{Type: block, Bytes: der})
	if err := os.WriteFile(path, data, mode); err != nil {
		return fmt.Errorf("write certificate file: %w", err)
	}
	return nil
}
