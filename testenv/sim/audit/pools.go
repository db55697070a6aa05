package audit

import (
	"encoding/json"

	"github.com/joiner-sh/joiner/shared/model"
)

// requestPools returns the offerings a recorded request of the world's fleet may use; nil where it is no such request.
func requestPools(text []byte) []model.OfferingKey {
	var request struct {
		CapacityType string `json:"capacityType"`
		Templates    []struct {
			Overrides []model.Override
		} `json:"templates"`
	}
	if json.Unmarshal(text, &request) != nil {
		return nil
	}
	var out []model.OfferingKey
	for _, t := range request.Templates {
		for _, o := range t.Overrides {
			out = append(out, model.OfferingKey{InstanceType: o.InstanceType, Zone: o.Zone, CapacityType: request.CapacityType})
		}
	}
	return out
}
