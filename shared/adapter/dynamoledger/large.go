package dynamoledger

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/joiner-sh/joiner/shared/fault"
)

const (
	packFrom         = 32 << 10 // bytes of JSON from which a value that may be large is packed
	maxUnpackedBytes = 16 << 20
)

// encodeLarge gives an item a value that may be larger than an item can be: as doc, or packed where it is large. A command that moves
// thousands of pods names each.
func encodeLarge(entry item, what string, value any) error {
	doc, err := json.Marshal(value)
	if err != nil {
		return fault.Wrap(fault.Invalid, "", err, "encode %s", what)
	}
	if len(doc) < packFrom {
		entry["doc"] = text(string(doc))
		return nil
	}
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	_, err = zip.Write(doc)
	if err == nil {
		err = zip.Close()
	}
	if err != nil {
		return fault.Wrap(fault.Internal, "", err, "pack %s", what)
	}
	if len(doc) > maxUnpackedBytes || packed.Len() > maxDocBytes {
		return fault.New(fault.Invalid, "ItemTooLarge", "%s takes %d bytes, %d of them packed, and an item holds %d", what, len(doc), packed.Len(), maxDocBytes)
	}
	entry["packed"] = &types.AttributeValueMemberB{Value: packed.Bytes()}
	return nil
}

// decodeLarge reads what encodeLarge wrote.
func decodeLarge(entry item, into any) error {
	packed, ok := entry["packed"].(*types.AttributeValueMemberB)
	if !ok {
		return decode(entry, into)
	}
	zip, err := gzip.NewReader(bytes.NewReader(packed.Value))
	if err == nil {
		err = json.NewDecoder(io.LimitReader(zip, maxUnpackedBytes)).Decode(into)
	}
	if err != nil {
		return fmt.Errorf("unpack item %s %s: %w", textOf(entry, "PK"), textOf(entry, "SK"), err)
	}
	return nil
}

// sameDoc reports whether two items have the same value, as encodeLarge wrote it.
func sameDoc(a, b item) bool {
	packed := func(i item) []byte {
		if value, ok := i["packed"].(*types.AttributeValueMemberB); ok {
			return value.Value
		}
		return nil
	}
	return textOf(a, "doc") == textOf(b, "doc") && bytes.Equal(packed(a), packed(b))
}
