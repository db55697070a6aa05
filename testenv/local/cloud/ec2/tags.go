package ec2

import (
	"slices"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// Tag is a key and its value as the wire has them.
type Tag struct {
	Key   string `xml:"key"`
	Value string `xml:"value"`
}

// TagSpecification says which tags what kind of resource gets as it is made.
type TagSpecification struct {
	ResourceType string `xml:"resourceType"`
	Tags         []Tag  `query:"Tag" xml:"tagSet>item"`
}

// tagStore remembers the tags of every resource, by id, as changes with the
// time from which describing shows them.
type tagStore map[string][]tagChange

type tagChange struct {
	at      time.Time
	key     string
	value   string
	removed bool
}

func (s tagStore) set(id string, tags map[string]string, at time.Time) {
	for _, key := range sortedKeys(tags) {
		s[id] = append(s[id], tagChange{at: at, key: key, value: tags[key]})
	}
}

func (s tagStore) remove(id, key string, at time.Time) {
	s[id] = append(s[id], tagChange{at: at, key: key, removed: true})
}

// seen returns the tags of id that describing shows at now. Never nil.
func (s tagStore) seen(id string, now time.Time) map[string]string {
	out := map[string]string{}
	for _, c := range s[id] {
		switch {
		case c.at.After(now):
		case c.removed:
			delete(out, c.key)
		default:
			out[c.key] = c.value
		}
	}
	return out
}

// all returns the tags of id however young. Never nil.
func (s tagStore) all(id string) map[string]string {
	return s.seen(id, time.Unix(1<<40, 0))
}

// tagList returns tags sorted by key.
func tagList(tags map[string]string) []Tag {
	out := []Tag{}
	for _, key := range sortedKeys(tags) {
		out = append(out, Tag{key, tags[key]})
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

const maxTags = 50

// checkTags refuses what EC2 refuses in tags a caller sets.
func checkTags(tags []Tag) error {
	if len(tags) > maxTags {
		return wire.Errorf("TagLimitExceeded", "The maximum number of Tags for a resource has been reached.")
	}
	seen := map[string]bool{}
	for _, t := range tags {
		switch {
		case t.Key == "":
			return wire.Errorf("InvalidParameterValue", "Tag key cannot be empty.")
		case len([]rune(t.Key)) > 128:
			return wire.Errorf("InvalidParameterValue", "Tag key exceeds the maximum length of 128 characters")
		case len([]rune(t.Value)) > 256:
			return wire.Errorf("InvalidParameterValue", "Tag value exceeds the maximum length of 256 characters")
		case strings.HasPrefix(strings.ToLower(t.Key), "aws:"):
			return wire.Errorf("InvalidParameterValue", "Tag keys starting with 'aws:' are reserved for internal use")
		case seen[t.Key]:
			return wire.Errorf("InvalidParameterValue", "Duplicate tag key '%s' specified.", t.Key)
		}
		seen[t.Key] = true
	}
	return nil
}

// checkTagSpecifications refuses kinds of resource an action does not tag, kinds
// given twice, and tags EC2 refuses.
func checkTagSpecifications(specs []TagSpecification, kinds ...string) error {
	seen := map[string]bool{}
	for _, s := range specs {
		if !slices.Contains(kinds, s.ResourceType) {
			return wire.Errorf("InvalidParameterValue", "'%s' is not a valid taggable resource type for this operation.", s.ResourceType)
		}
		if seen[s.ResourceType] {
			return wire.Errorf("InvalidParameterValue", "Tag specification resource type '%s' may be given once only", s.ResourceType)
		}
		seen[s.ResourceType] = true
		if err := checkTags(s.Tags); err != nil {
			return err
		}
	}
	return nil
}

// tagsFor returns the tags of specs for a kind of resource; nil when there are none.
func tagsFor(kind string, specs ...TagSpecification) map[string]string {
	var out map[string]string
	for _, s := range specs {
		if s.ResourceType != kind {
			continue
		}
		for _, t := range s.Tags {
			if out == nil {
				out = map[string]string{}
			}
			out[t.Key] = t.Value
		}
	}
	return out
}
