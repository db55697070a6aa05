package dynamoledger

import (
	"fmt"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// place puts one item where it belongs. Expired ones are dropped. Only claims of no pool count until they are deleted,
// since their names may be asked for again and are in use.
func place(ledger *model.Ledger, entry item, nowUnix int64) error {
	if expired(entry, nowUnix) && numberOf(entry, standalone) == 0 {
		return nil
	}
	kind, rest, _ := strings.Cut(textOf(entry, "SK"), "#")
	switch kind {
	case "CLAIM", "ENDED":
		return placeClaim(ledger, entry, nowUnix)
	case "INTENT":
		return placeIntent(&ledger.Intents, entry)
	case "USE":
		usage, err := usageOf(rest, entry)
		if err != nil {
			return err
		}
		ledger.Usage = append(ledger.Usage, usage)
	case "MARK":
		return appendDecoded(entry, &ledger.UnavailableOfferings)
	case allowanceSK:
		return decodeWhole(entry, &ledger.Allowance)
	case "CLASS":
		return appendDecoded(entry, &ledger.Classes) // by name, as the sort key has it
	case notesSK:
		return decodeWhole(entry, &ledger.Notes)
	case shiftSK:
		return decodeWhole(entry, &ledger.Shifts)
	case "COMMAND":
		return placeCommand(&ledger.Commands, entry) // by id, as the sort key has it
	case "TURN":
		version, err := amountOf(entry, "ver")
		if err != nil {
			return err
		}
		// by pool
		ledger.BudgetVersions = append(ledger.BudgetVersions, model.BudgetVersion{Pool: rest, Version: version})
	case stopSK:
		return appendDecoded(entry, &ledger.Stops)
	case disruptNotesSK:
		return decodeWhole(entry, &ledger.Disrupt)
	}
	return nil
}

func placeClaim(ledger *model.Ledger, entry item, nowUnix int64) error {
	claim, err := claimOf(entry)
	if err != nil {
		return err
	}
	if claim.Live() {
		ledger.Claims = append(ledger.Claims, claim)
		return nil
	}
	if claim.EndedLately(nowUnix) {
		ledger.Ended = append(ledger.Ended, claim)
	}
	ledger.Spent = append(ledger.Spent, claim) // as yet: which of them are depends on all the commands
	if claim.Pool == "" {
		ledger.FormerClaims = append(ledger.FormerClaims, claim)
	}
	return nil
}

// placeSurveyed puts one item where it belongs in what the collector reads.
func placeSurveyed(records *model.ClusterRecords, entry item) error {
	if expired(entry, records.NowUnix) {
		return nil
	}
	switch kind, _, _ := strings.Cut(textOf(entry, "SK"), "#"); kind {
	case "CLAIM", "ENDED":
		claim, err := claimOf(entry)
		if err != nil {
			return err
		}
		records.Claims = append(records.Claims, claim)
	case "INTENT":
		return placeIntent(&records.Intents, entry)
	case "CLASS":
		return appendDecoded(entry, &records.Classes) // by name, as the sort key has it
	case "COMMAND":
		return placeCommand(&records.Commands, entry) // by id
	}
	return nil
}

// claimOf reads a claim.
func claimOf(entry item) (model.Claim, error) {
	var claim model.Claim
	if err := decodePacked(entry, &claim); err != nil {
		return model.Claim{}, err
	}
	return claim, named(entry, nameOfClaim(textOf(entry, "SK")), claim.Name)
}

// placeIntent adds an intent that is open.
func placeIntent(intents *[]model.Intent, entry item) error {
	if model.IntentState(textOf(entry, "state")) == model.IntentDone {
		return nil
	}
	var intent model.Intent
	if err := decodePacked(entry, &intent); err != nil {
		return err
	}
	if err := named(entry, strings.TrimPrefix(textOf(entry, "SK"), intentSK), intent.ID); err != nil {
		return err
	}
	*intents = append(*intents, intent)
	return nil
}

// placeCommand adds a command, as its item has it.
func placeCommand(commands *[]model.Command, entry item) error {
	var command model.Command
	if err := decodePacked(entry, &command); err != nil {
		return err
	}
	if err := named(entry, strings.TrimPrefix(textOf(entry, "SK"), commandSK), command.ID); err != nil {
		return err
	}
	if command.Version != numberOf(entry, "ver") {
		return fmt.Errorf("item %s %s has version %d in its doc and %d beside it",
			textOf(entry, "PK"), textOf(entry, "SK"), command.Version, numberOf(entry, "ver"))
	}
	*commands = append(*commands, command)
	return nil
}

func usageOf(pool string, entry item) (model.Usage, error) {
	usage := model.Usage{Pool: pool, Reserved: model.Resources{}}
	var err error
	if usage.Version, err = amountOf(entry, "v"); err != nil {
		return usage, err
	}
	for name := range entry {
		if resource, ok := strings.CutPrefix(name, resourcePrefix); ok {
			if usage.Reserved[resource], err = amountOf(entry, name); err != nil {
				return usage, err
			}
		}
	}
	return usage, nil
}

// setManifest puts what the cluster's watcher wrote as its manifest into the ledger. Where it is not to be believed the
// ledger says why.
func setManifest(ledger *model.Ledger, cluster string, entry item) {
	var manifest model.Manifest
	if err := decode(entry, &manifest); err != nil {
		ledger.ManifestFault = err.Error()
		return
	}
	if manifest.Cluster != cluster {
		ledger.ManifestFault = fmt.Sprintf("the manifest of cluster %s names the cluster %.100q", cluster,
			manifest.Cluster)
		return
	}
	manifest.HeartbeatAt, manifest.Lost = numberOf(entry, "heartbeat"), flagged(entry)
	ledger.Manifest = &manifest
}

// flagged reports whether an item of a manifest says that an object is gone which the manifest names.
func flagged(entry item) bool {
	_, is := entry["lost"]
	return is
}

// named returns an error where an item says another name in its doc than in its key.
func named(entry item, inKey, inDoc string) error {
	if inKey != inDoc {
		return fmt.Errorf("item %s %s says %q in its doc", textOf(entry, "PK"), textOf(entry, "SK"), inDoc)
	}
	return nil
}

// withoutEnded returns the live claims less those that ended while they were read.
func withoutEnded(live, ended []model.Claim) []model.Claim {
	if len(ended) == 0 {
		return live
	}
	last := make(map[string]*model.Claim, len(ended))
	for i := range ended {
		last[ended[i].Name] = &ended[i]
	}
	return slices.DeleteFunc(live, func(claim model.Claim) bool {
		gone := last[claim.Name]
		return gone != nil && claim.Live() && gone.Intent == claim.Intent && gone.Version > claim.Version
	})
}
