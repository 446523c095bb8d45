package jsonwire

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listfacade/listfacade/internal/wire"
)

// TestListMetadataOfShards compares the metadata of a list of shards with that of apimachinery.
func TestListMetadataOfShards(t *testing.T) {
	const selector = "shardRange(object.metadata.uid, '0x0000000000000000', '0x4000000000000000') || " +
		"shardRange(object.metadata.uid, '0x8000000000000000', '0x10000000000000000')"
	want, err := json.Marshal(metav1.ListMeta{ResourceVersion: "7", Continue: "token", ShardInfo: &metav1.ShardInfo{Selector: selector}})
	if err != nil {
		t.Fatal(err)
	}
	if got := appendListMeta(nil, wire.ListMeta{ResourceVersion: "7", Continue: "token", Shards: selector}); string(got) != string(want) {
		t.Errorf("got %s, want %s", got, want)
	}
}
