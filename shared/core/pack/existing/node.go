package existing

import (
	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/core/volume"
	"github.com/joiner-sh/joiner/shared/model"
)

// Label returns a label of the existing node by its name of today, and whether it has it.
func (s *Node) Label(key string) (string, bool) {
	value, has := requirement.Label(s.labels, key)
	if !has && s.host != "" && key == model.LabelHostname {
		return s.host, true
	}
	return value, has
}

// Possible returns the values a label may take on a claim on its way that does not have it yet; none where it is known,
// or will not be there.
func (s *Node) Possible(key string) []string {
	if s.Market == nil || s.Blind || !offerings.Decided(key) {
		return nil
	}
	if value, _ := s.Label(key); value != "" {
		return nil
	}
	known, asked := s.open[key]
	if !asked {
		if s.open == nil {
			s.open = make(map[string][]string)
		}
		known = s.Market.ValuesIn(s.mask, key)
		s.open[key] = known
	}
	return known
}

// AttachAll notes volumes that are attached.
func (s *Node) AttachAll(list []volume.Attachment) {
	for _, a := range list {
		if s.Attached == nil {
			s.Attached = make(map[string]map[string]bool)
		}
		if s.Attached[a.Driver] == nil {
			s.Attached[a.Driver] = make(map[string]bool)
		}
		s.Attached[a.Driver][a.Handle] = true
	}
}

// settleLabels gives the existing node the labels every offering it may become agrees on.
func (s *Node) settleLabels() {
	for _, key := range []string{model.LabelZone, model.LabelZoneID, model.LabelCapacityType, model.LabelArch, model.LabelOS, model.LabelTenancy, model.LabelPartition} {
		values := s.Market.ValuesIn(s.mask, key)
		if len(values) == 1 && s.labels[key] == "" {
			s.labels[key] = values[0]
		}
	}
}

// Values returns the existing node's values of the labels, empty where it has none.
func (s *Node) Values(keys []string) []string {
	values := make([]string, len(keys))
	for k, key := range keys {
		values[k], _ = s.Label(key)
	}
	return values
}

// Possibles returns, for each label, the values it may take where it is not there yet; nil where all are known.
func (s *Node) Possibles(keys []string) [][]string {
	if s.Market == nil {
		return nil
	}
	out := make([][]string, len(keys))
	for k, key := range keys {
		out[k] = s.Possible(key)
	}
	return out
}
