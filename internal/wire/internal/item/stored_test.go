package item

import (
	"bytes"
	"errors"
	"testing"
)

// TestDictionaryIsReadBack packs with a dictionary that was read back, and reads items of the original with it. It does
// so for a dictionary with tables, for one without, and for one at the fast level.
func TestDictionaryIsReadBack(t *testing.T) {
	made, err := NewDictionary(objects(0, 200))
	if err != nil || !made.tables {
		t.Fatalf("got a dictionary without tables, error %v", err)
	}
	fast := newDictionary(made.bytes, true)
	fast.level = fastLevel
	for name, d := range map[string]*Dictionary{
		"tables": made, "raw": newDictionary([]byte(`{"type":"Ready","status":"True"}`), false), "fast": fast,
	} {
		read, err := ReadDictionary(d.AppendStored(nil))
		if err != nil || !bytes.Equal(read.bytes, d.bytes) || read.level != d.level {
			t.Fatalf("%s: got another dictionary, error %v", name, err)
		}
		for _, it := range objects(200, 210) {
			packed := d.Packer().Pack(it)
			it.marks.Rest = 0
			got, err := Stored(AppendStored(nil, &packed, 1), []*Dictionary{read},
				func(_ []byte, object, cells uint32) (Marks, error) { return Marks{Object: object, Cells: cells}, nil })
			if err != nil || !got.Equal(it) {
				t.Fatalf("%s: got another item, error %v", name, err)
			}
			if again := read.Packer().Repack(&got); !bytes.Equal(again.data, packed.data) {
				t.Errorf("%s: packed with the dictionary that was read, the bytes differ", name)
			}
		}
	}
}

func TestDamagedDictionaryIsRefused(t *testing.T) {
	made, err := NewDictionary(objects(0, 200))
	if err != nil {
		t.Fatal(err)
	}
	for name, stored := range map[string][]byte{
		"empty": nil, "unknown kind": {7, 1, 2}, "cut off": made.AppendStored(nil)[:40], "no tables": {storedTables, 1, 2, 3},
	} {
		if _, err := ReadDictionary(stored); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: got error %v, want ErrDamaged", name, err)
		}
	}
}

// TestStoredBoundsAreChecked passes sizes and dictionaries that do not exist.
func TestStoredBoundsAreChecked(t *testing.T) {
	scan := func([]byte, uint32, uint32) (Marks, error) { return Marks{}, nil }
	for name, stored := range map[string][]byte{
		"no dictionary": {1, 1, 1, 1, 'a'}, "cells after the end": {0, 1, 1, 2, 'a'}, "object after the cells": {0, 2, 2, 1, 'a', 'b'},
		"too short": {0, 2, 1, 1, 'a'}, "too long": {0, 1, 1, 1, 'a', 'b'}, "huge": {0, 0xff, 0xff, 0xff, 0xff, 0x7f, 0, 0},
	} {
		if _, err := Stored(stored, nil, scan); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: got error %v, want ErrDamaged", name, err)
		}
	}
}
