// Requests: a server gives each request an owner of its own. Without that, two requests that the server happens to run on
// one goroutine, one after the other on a keep-alive connection for instance, would be the same owner.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/rlock-go/rlock/examples/internal/embedded"
	"github.com/rlock-go/rlock/ownerid"
	"github.com/rlock-go/rlock/rlock"
)

func withOwner(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(ownerid.NewContext(r.Context(), ownerid.New())))
	})
}

func refund(lock *rlock.Lock) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := lock.Do(r.Context(), func(context.Context) error { return nil })
		if err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
		}
	}
}

func main() {
	client, stop := embedded.Client()
	defer stop()
	server := httptest.NewServer(withOwner(refund(client.NewLock("order:42"))))
	defer server.Close()
	answer, err := http.Get(server.URL)
	if err != nil {
		log.Println(err)
		return
	}
	_ = answer.Body.Close()
	fmt.Println(answer.Status)
}
