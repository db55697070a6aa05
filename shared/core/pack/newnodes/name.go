package newnodes

import (
	"crypto/sha256"
	"encoding/base32"
	"strconv"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/pack/input"
	"github.com/joiner-sh/joiner/shared/model"
)

const (
	maxPoolInName = 57 // of a name's 63 characters, the rest being "-" and suffixLength
	suffixLength  = 5
)

// name gives each claim the name of its pool and a short hash of what it is. Same claims and salt, same names; no two
// claims of the list share one, nor has any that of a node or claim there is.
func name(claims []model.PlannedClaim, in *input.Input) {
	if len(claims) == 0 || nameAtOnce(claims, in) {
		return
	}
	taken := make(map[string]bool, len(claims)+len(in.Snapshot.Nodes)+len(in.Snapshot.Claims)+len(in.Claims))
	for i := range in.Snapshot.Nodes {
		taken[in.Snapshot.Nodes[i].Name] = true
	}
	for i := range in.Snapshot.Claims {
		taken[in.Snapshot.Claims[i].Name] = true
	}
	for i := range in.Claims {
		taken[in.Claims[i].Name] = true
	}
	for i := range claims {
		content := digestible(&claims[i])
		for attempt := 0; claims[i].Name == ""; attempt++ {
			candidate := prefix(claims[i].Pool) + "-" + suffix(content, in.Salt, attempt)
			if !taken[candidate] {
				claims[i].Name = candidate
				taken[candidate] = true
			}
		}
	}
}

// nameAtOnce gives each claim the first name it may have, unless one of these is taken, which it is hardly ever; then
// it returns false and gives none.
func nameAtOnce(claims []model.PlannedClaim, in *input.Input) bool {
	names, wanted := make([]string, len(claims)), make(map[string]bool, len(claims))
	for i := range claims {
		names[i] = prefix(claims[i].Pool) + "-" + suffix(digestible(&claims[i]), in.Salt, 0)
		wanted[names[i]] = true
	}
	taken := len(wanted) < len(claims)
	for i := range in.Snapshot.Nodes {
		taken = taken || wanted[in.Snapshot.Nodes[i].Name]
	}
	for i := range in.Snapshot.Claims {
		taken = taken || wanted[in.Snapshot.Claims[i].Name]
	}
	for i := range in.Claims {
		taken = taken || wanted[in.Claims[i].Name]
	}
	if taken {
		return false
	}
	for i := range claims {
		claims[i].Name = names[i]
	}
	return true
}

// digestible writes down what tells the claim from every other of a plan: its pods and how it is bought.
func digestible(claim *model.PlannedClaim) []byte {
	out := make([]byte, 0, 64+64*len(claim.Pods))
	for _, text := range []string{claim.Pool, claim.Offering.InstanceType, claim.Offering.Zone, claim.Offering.CapacityType} {
		out = append(append(out, text...), 0)
	}
	for i := range claim.Pods {
		pod := &claim.Pods[i]
		for _, text := range []string{pod.Namespace, pod.Name, pod.UID} {
			out = append(append(out, text...), 0)
		}
	}
	return out
}

// prefix is as much of the pool's name as fits, ending in a letter or digit.
func prefix(pool string) string {
	return strings.TrimRight(pool[:min(len(pool), maxPoolInName)], "-.")
}

func suffix(content []byte, salt string, attempt int) string {
	hash := sha256.New()
	hash.Write(content)
	hash.Write([]byte("\x00" + salt + "\x00" + strconv.Itoa(attempt)))
	return strings.ToLower(base32.StdEncoding.EncodeToString(hash.Sum(nil)))[:suffixLength]
}
