package dynamoledger

import (
	"context"
	"sort"

	"github.com/joiner-sh/joiner/shared/model"
)

// learnedPK is a partition of its own: planners load the region's, and what was learned comes to them with the catalog.
func learnedPK(reg model.Registration) string { return regionPK(reg.Account, reg.Region) + "LEARNED" }

// Learn notes how much memory a node of a type had. Of two about the same type and images the smaller stays, the later
// of two equals, and one that was forgotten by the new one's time does not count.
func (r Regions) Learn(ctx context.Context, reg model.Registration, learned model.LearnedOf) error {
	entry, err := withDoc(key(learnedPK(reg), learned.InstanceType+"#"+learned.Images),
		"the learned memory of "+learned.InstanceType, learned)
	if err != nil {
		return err
	}
	entry["mib"], entry["seen"] = number(learned.MiB), number(learned.SeenUnix)
	entry["ttl"] = number(learned.SeenUnix + model.LearnedForSeconds)
	err = r.write(ctx, r.put(entry,
		"attribute_not_exists(PK) OR #mib > :mib OR (#mib = :mib AND #seen < :seen) OR #ttl <= :seen",
		item{":mib": number(learned.MiB), ":seen": number(learned.SeenUnix)}))
	if _, stays := unmet(err); stays {
		return nil
	}
	return translate(err, "record the memory of %s in %s", learned.InstanceType, reg.Region)
}

// Learned returns what was learned of types in the registration's account and region and is not forgotten at nowUnix,
// by type, then images.
func (r Regions) Learned(ctx context.Context, reg model.Registration, nowUnix int64) ([]model.LearnedOf, error) {
	entries, err := r.query(ctx, learnedPK(reg), "", false)
	if err != nil {
		return nil, err
	}
	var all []model.LearnedOf
	for _, entry := range entries {
		var learned model.LearnedOf
		if err := decode(entry, &learned); err != nil {
			return nil, err
		}
		if !learned.Forgotten(nowUnix) {
			all = append(all, learned)
		}
	}
	sort.Slice(all, func(i, j int) bool {
		if all[i].InstanceType != all[j].InstanceType {
			return all[i].InstanceType < all[j].InstanceType
		}
		return all[i].Images < all[j].Images
	})
	return all, nil
}
