package dynamodb

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// tokenLife is how long a ClientRequestToken is remembered after its transaction.
const tokenLife = 10 * time.Minute

// tokenUse is what a ClientRequestToken stands for.
type tokenUse struct {
	request    [sha256.Size]byte
	inProgress bool
	readUnits  map[string]units // what each repetition takes, by table
}

// tokenEnd is when a token may be forgotten.
type tokenEnd struct {
	token string
	at    time.Time
}

// forgetTokens drops the tokens whose life is over. Ends stand in order because tokenLife is the same for all.
func (m *Model) forgetTokens(now time.Time) {
	for len(m.tokenEnds) > 0 && !now.Before(m.tokenEnds[0].at) {
		delete(m.tokens, m.tokenEnds[0].token)
		m.tokenEnds = m.tokenEnds[1:]
	}
}

// useToken claims the token of a transaction. repeated is not nil when the transaction has happened already,
// and then tells what the repetition takes.
func (m *Model) useToken(in TransactWriteItemsInput) (repeated map[string]units, err error) {
	if in.ClientRequestToken == "" {
		return nil, nil
	}
	document, err := json.Marshal(in.TransactItems)
	if err != nil {
		return nil, fmt.Errorf("hash transaction: %w", err)
	}
	request := sha256.Sum256(document)
	use := m.tokens[in.ClientRequestToken]
	switch {
	case use == nil:
		m.tokens[in.ClientRequestToken] = &tokenUse{request: request, inProgress: true}
		return nil, nil
	case use.request != request:
		return nil, wire.Errorf("IdempotentParameterMismatchException", "Request parameters do not match the parameters of the previous request with the same token")
	case use.inProgress:
		return nil, wire.Errorf("TransactionInProgressException", "The transaction with the given request token is already in progress")
	}
	return use.readUnits, nil
}

// rememberUse notes what a repetition of the transaction takes: it only reads its items.
func (m *Model) rememberUse(token string, written map[string]units, now time.Time) {
	use := m.tokens[token]
	if use == nil {
		return
	}
	m.tokenEnds = append(m.tokenEnds, tokenEnd{token: token, at: now.Add(tokenLife)})
	use.readUnits = map[string]units{}
	for name, u := range written {
		use.readUnits[name] = units{table: u.table}
	}
}

// settleToken ends the claim: a transaction that did not happen leaves its token free.
func (m *Model) settleToken(token string, happened bool) {
	use := m.tokens[token]
	if use == nil {
		return
	}
	use.inProgress = false
	if !happened {
		delete(m.tokens, token)
	}
}
