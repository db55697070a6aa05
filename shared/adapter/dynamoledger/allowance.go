package dynamoledger

import (
	"context"

	"github.com/joiner-sh/joiner/shared/model"
)

// Allowance reads what all clusters of the account and region share of EC2's API; the zero value where it was never
// written.
func (r Regions) Allowance(ctx context.Context, reg model.Registration) (model.Allowance, error) {
	var allowance model.Allowance
	out, err := r.getItem(ctx, key(regionPK(reg.Account, reg.Region), allowanceSK))
	if err != nil {
		return allowance, translate(err, "read the EC2 call quota of %s in %s", reg.Account, reg.Region)
	}
	if out.Item == nil {
		return allowance, nil
	}
	if err := decodeWhole(out.Item, &allowance); err != nil { // Load says so; whoever spends of it next writes it anew
		allowance = model.Allowance{Version: numberOf(out.Item, "v")}
	}
	return allowance, nil
}

// Spend writes the allowance under its next version, on condition of the one it has.
func (r Regions) Spend(ctx context.Context, reg model.Registration, allowance model.Allowance) error {
	was := allowance.Version
	allowance.Version++
	entry, err := withDoc(key(regionPK(reg.Account, reg.Region), allowanceSK), "allowance", allowance)
	if err != nil {
		return err
	}
	err = r.write(ctx, r.putNext(entry, "v", was, "attribute_not_exists(#v)"))
	return translate(err, "spend the EC2 call quota of %s in %s at version %d", reg.Account, reg.Region, was)
}
