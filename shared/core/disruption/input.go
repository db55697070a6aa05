package disruption

import "github.com/joiner-sh/joiner/shared/model"

// Input is everything a plan depends on. Plan reads it and keeps nothing of it.
type Input struct {
	Snapshot *model.Snapshot
	// Catalogs is what each class can buy, by class name, unavailable offerings included; what a pool sees of it by
	// model.CatalogKey, where overlays change that.
	Catalogs map[string][]model.InstanceType
	// ClassProblems says why a class cannot be used now, by class name.
	ClassProblems map[string]string
	// SuspendedPools says why no instance is bought for a pool now, by pool name.
	SuspendedPools map[string]string
	// Claims are the ledger's live ones. A node of a pool without one is kept.
	Claims []model.Claim
	// Unclaimed says that there are more, which cannot be read: nodes of pools without a claim count against budgets.
	Unclaimed bool
	// Usage is what is held against each pool's limits, by pool name, with nodes.
	Usage                map[string]model.Resources
	UnavailableOfferings []model.UnavailableOffering
	// Commands are the open ones and those that ended lately, by id.
	Commands []model.Command
	Stops    []model.Stop
	NowUnix  int64
	Settings Settings
	// Salt goes into the names of replacements.
	Salt string
}

// Settings are what people choose for all pools.
type Settings = model.DisruptionSettings

// withDefaults returns the settings with the defaults filled in.
func withDefaults(s Settings) Settings {
	fill(&s.SpotTypes, 15)
	fill(&s.MinSavingPercent, 1)
	fill(&s.MinSaving, 1000)
	fill(&s.BalancedPercent, 50)
	fill(&s.OppositeSeconds, 1800)
	fill(&s.BreakerFailures, 3)
	fill(&s.BreakerOutcomes, 5)
	fill(&s.BreakerSeconds, 1800)
	fill(&s.MaxCommands, 100)
	return s
}

func fill[T int | int64 | model.MicroUSD](field *T, value T) {
	if *field <= 0 {
		*field = value
	}
}
