package dynamodb

import (
	"strconv"

	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb/attribute"
)

// The longest keys AWS takes.
const (
	maxHashBytes  = 2048
	maxRangeBytes = 1024
)

// keySchema is the key of a table or index: the partition attribute and, unless "", the sort attribute.
type keySchema struct {
	hash, sort keyAttribute
}

// keyAttribute is a key attribute and its declared kind: S, N or B.
type keyAttribute struct {
	name string
	kind attribute.Kind
}

// attributes returns the one or two key attributes.
func (k keySchema) attributes() []keyAttribute {
	if k.sort.name == "" {
		return []keyAttribute{k.hash}
	}
	return []keyAttribute{k.hash, k.sort}
}

// names returns the names of the key attributes.
func (k keySchema) names() []string {
	var names []string
	for _, a := range k.attributes() {
		names = append(names, a.name)
	}
	return names
}

// of returns the key part of an item.
func (k keySchema) of(item attribute.Item) attribute.Item {
	key := attribute.Item{}
	for _, a := range k.attributes() {
		if v, ok := item[a.name]; ok {
			key[a.name] = v
		}
	}
	return key
}

// identity encodes the key of an item: equal for equal keys, different for different ones.
func (k keySchema) identity(item attribute.Item) string {
	id := encode(item[k.hash.name])
	if k.sort.name != "" {
		id += encode(item[k.sort.name])
	}
	return id
}

// encode writes a scalar so that no two different ones, and no two runs of them, read the same.
func encode(v attribute.Value) string {
	text := v.Text
	if v.Kind == attribute.N {
		text = v.Number.String()
	}
	return v.Kind.String() + strconv.Itoa(len(text)) + ":" + text
}

// checkKey refuses what is not exactly the key of the schema, as Key parameters are checked.
func (k keySchema) checkKey(key attribute.Item) error {
	attributes := k.attributes()
	mismatch := len(key) != len(attributes)
	for _, a := range attributes {
		mismatch = mismatch || key[a.name].Kind != a.kind
	}
	if mismatch {
		return invalidf("The provided key element does not match the schema")
	}
	return k.checkContent(key)
}

// checkItem refuses an item without a whole and valid key, as PutItem checks it.
func (k keySchema) checkItem(item attribute.Item) error {
	for _, a := range k.attributes() {
		v, ok := item[a.name]
		if !ok {
			return invalidf("One or more parameter values were invalid: Missing the key %s in the item", a.name)
		}
		if v.Kind != a.kind {
			return invalidf("One or more parameter values were invalid: Type mismatch for key %s expected: %s actual: %s",
				a.name, a.kind, v.Kind)
		}
	}
	return k.checkContent(item)
}

// checkContent refuses key values that are empty or too long.
func (k keySchema) checkContent(item attribute.Item) error {
	for _, a := range k.attributes() {
		if kind, empty := emptyScalar(item[a.name]); empty {
			return invalidf("One or more parameter values are not valid. The AttributeValue for a key attribute "+
				"cannot contain an empty %s value. Key: %s", kind, a.name)
		}
	}
	if item[k.hash.name].SizeBytes() > maxHashBytes {
		return invalidf("One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of%d bytes", maxHashBytes)
	}
	if k.sort.name != "" && item[k.sort.name].SizeBytes() > maxRangeBytes {
		return invalidf("One or more parameter values were invalid: Aggregated size of all range keys has exceeded the size limit of %d bytes", maxRangeBytes)
	}
	return nil
}

// emptyScalar names the kind of an empty S or B.
func emptyScalar(v attribute.Value) (kind string, empty bool) {
	if v.Text != "" {
		return "", false
	}
	switch v.Kind {
	case attribute.S:
		return "string", true
	case attribute.B:
		return "binary", true
	}
	return "", false
}
