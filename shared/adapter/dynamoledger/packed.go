package dynamoledger

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/wire"
)

const (
	packFrom         = 1 << 10 // bytes of JSON from which it is worth while
	maxUnpackedBytes = 16 << 20
)

// Compressors and readers of gzip are used again: each takes more memory than what it packs.
var (
	compressors = sync.Pool{New: func() any { return new(wire.Compressor) }}
	unpackers   = sync.Pool{New: func() any { return new(gzip.Reader) }}
)

// encodePacked gives an item a value that is read over and over, or may be larger than an item can be: as doc, or
// packed where it is not small. A claim of twenty pods takes 4 KB, and a third of that packed; whoever plans or looks
// reads all of them, and pays by the size.
func encodePacked(entry item, what string, value any) error {
	doc, err := json.Marshal(value)
	if err != nil {
		return fault.Wrap(fault.Invalid, "", err, "encode %s", what)
	}
	if len(doc) < packFrom {
		entry["doc"] = text(string(doc))
		return nil
	}
	compressor := compressors.Get().(*wire.Compressor)
	defer compressors.Put(compressor)
	packed := compressor.Compress(doc)
	if len(doc) > maxUnpackedBytes || len(packed) > maxDocBytes {
		return fault.New(fault.Invalid, "ItemTooLarge", "%s takes %d bytes, %d of them packed, and an item holds %d",
			what, len(doc), len(packed), maxDocBytes)
	}
	entry["packed"] = &types.AttributeValueMemberB{Value: packed}
	return nil
}

// decodePacked reads what encodePacked wrote.
func decodePacked(entry item, into any) error {
	packed, ok := entry["packed"].(*types.AttributeValueMemberB)
	if !ok {
		return decode(entry, into)
	}
	zip := unpackers.Get().(*gzip.Reader)
	defer unpackers.Put(zip)
	err := zip.Reset(bytes.NewReader(packed.Value))
	if err == nil {
		err = json.NewDecoder(io.LimitReader(zip, maxUnpackedBytes)).Decode(into)
	}
	if err != nil {
		return fmt.Errorf("unpack item %s %s: %w", textOf(entry, "PK"), textOf(entry, "SK"), err)
	}
	return nil
}

// sameDoc reports whether two items have the same value, as encodePacked wrote it.
func sameDoc(a, b item) bool {
	packed := func(i item) []byte {
		if value, ok := i["packed"].(*types.AttributeValueMemberB); ok {
			return value.Value
		}
		return nil
	}
	return textOf(a, "doc") == textOf(b, "doc") && bytes.Equal(packed(a), packed(b))
}
