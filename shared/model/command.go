package model

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// CheckCommit says what is wrong with a command that is to be committed with these claims and turns: whatever the
// ledger has, it could not be. Nil where nothing is.
func (c *Command) CheckCommit(claims []Claim, budgetVersions []BudgetVersion) error {
	switch {
	case c.ID == "":
		return errors.New("the command has no id")
	case c.State != CommandCommitted || c.Version != 1:
		return fmt.Errorf(
			"a new command is %s at version 1, not %q at version %d", CommandCommitted, c.State, c.Version)
	case len(c.Targets) == 0 || len(c.Targets) > MaxCommandNodes:
		return fmt.Errorf("it has %d targets; 1 to %d are allowed", len(c.Targets), MaxCommandNodes)
	}
	targets, pools := map[string]bool{}, map[string]bool{}
	for _, target := range c.Targets {
		if targets[target.Claim] {
			return fmt.Errorf("claim %q is among its targets twice", target.Claim)
		}
		targets[target.Claim], pools[target.Pool] = true, true
	}
	for _, claim := range claims {
		if !targets[claim.Name] {
			return fmt.Errorf("claim %q is passed and is not one of its targets, or is passed twice", claim.Name)
		}
		delete(targets, claim.Name)
	}
	for _, target := range c.Targets {
		if targets[target.Claim] {
			return fmt.Errorf("target %q has no claim", target.Claim)
		}
	}
	for _, budgetVersion := range budgetVersions {
		if !pools[budgetVersion.Pool] {
			return fmt.Errorf(
				"the budget version of NodePool %q is passed and no target belongs to that pool, or it is passed twice",
				budgetVersion.Pool)
		}
		delete(pools, budgetVersion.Pool)
	}
	for _, target := range c.Targets {
		if pools[target.Pool] {
			return fmt.Errorf(
				"no budget version of NodePool %q is passed, to which target %q belongs", target.Pool, target.Claim)
		}
	}
	return nil
}

// CheckEnd says what is wrong with a command that is to end together with these claims. Nil where nothing is.
func (c *Command) CheckEnd(claims []Claim) error {
	switch {
	case c.State != CommandDone && c.State != CommandUndone:
		return fmt.Errorf("it ends %s or %s, not %q", CommandDone, CommandUndone, c.State)
	case c.EndedUnix == 0:
		return errors.New("it does not say when it ended")
	}
	targets := map[string]bool{}
	for _, target := range c.Targets {
		targets[target.Claim] = true
	}
	for _, claim := range claims {
		if !targets[claim.Name] {
			return fmt.Errorf("claim %q is passed and is not one of its targets, or is passed twice", claim.Name)
		}
		delete(targets, claim.Name)
		if !claim.Live() {
			return fmt.Errorf(
				"claim %q is %s: only the collector and the drainer close claims", claim.Name, claim.State)
		}
		if claim.Command == c.ID && !claim.Ending() {
			return fmt.Errorf(
				"claim %q is %s and still belongs to the command: release it, or set it to draining",
				claim.Name, claim.State)
		}
	}
	return nil
}

// Over returns the command as it is kept once it has ended: of its replacements what tells them apart, and not what
// launching them takes, since many commands end in a day and every planner reads all of them.
func (c Command) Over() Command {
	kept := slices.Clone(c.Replacements)
	for i, r := range kept {
		kept[i] = PlannedClaim{
			Name: r.Name, Pool: r.Pool, Class: r.Class, Offering: r.Offering, Price: r.Price, Zones: r.Zones,
			CapacityTypes: r.CapacityTypes,
		}
	}
	c.Replacements = kept
	return c
}

// SpentOf returns those of the claims that are Gone and have the name of an open command's replacement, in their order.
func SpentOf(claims []Claim, commands []Command) []Claim {
	names := map[string]bool{}
	for i := range commands {
		for _, r := range commands[i].Replacements {
			if commands[i].State.Open() {
				names[r.Name] = true
			}
		}
	}
	var spent []Claim
	for i := range claims {
		if !claims[i].Live() && names[claims[i].Name] {
			spent = append(spent, claims[i])
		}
	}
	return spent
}

// Validate says what is wrong with the stop; nil where nothing is.
func (s *Stop) Validate() error {
	switch s.Scope {
	case StopPool:
		if s.Pool == "" {
			return fmt.Errorf("a stop of scope %q names no NodePool", s.Scope)
		}
		return nil
	case StopCluster, StopRegion:
		if s.Pool != "" {
			return fmt.Errorf(
				"a stop of scope %q names NodePool %q; scope %q is for one pool", s.Scope, s.Pool, StopPool)
		}
		return nil
	}
	return fmt.Errorf("stops have the scope %q, %q or %q, not %q", StopPool, StopCluster, StopRegion, s.Scope)
}

// What names what is stopped, where the stop is set for that registration.
func (s *Stop) What(reg Registration) string {
	switch s.Scope {
	case StopPool:
		return fmt.Sprintf("nodepool %s of cluster %s", s.Pool, reg.Cluster)
	case StopRegion:
		return fmt.Sprintf("account %s in region %s", reg.Account, reg.Region)
	}
	return "cluster " + reg.Cluster
}

// SortStops orders stops as the ledger lists them: pools' by name, the cluster's, the account and region's.
func SortStops(stops []Stop) {
	reach := map[StopScope]int{StopPool: 0, StopCluster: 1, StopRegion: 2}
	slices.SortStableFunc(stops, func(a, b Stop) int {
		return cmp.Or(cmp.Compare(reach[a.Scope], reach[b.Scope]), cmp.Compare(a.Pool, b.Pool))
	})
}
