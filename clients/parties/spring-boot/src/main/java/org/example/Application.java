package org.example;

import java.util.Map;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.SpringBootVersion;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.http.HttpStatusCode;
import org.springframework.http.ResponseEntity;
import org.springframework.security.core.annotation.AuthenticationPrincipal;
import org.springframework.security.core.Authentication;
import org.springframework.security.oauth2.client.OAuth2AuthorizedClientManager;
import org.springframework.security.oauth2.client.web.client.OAuth2ClientHttpRequestInterceptor;
import org.springframework.security.oauth2.core.oidc.user.OidcUser;
import org.springframework.security.oauth2.server.resource.authentication.JwtAuthenticationToken;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.client.RestClient;

/** Pages that people sign in to, an API, and the pages' calls of it with the person's access token. */
@SpringBootApplication
public class Application {
    public static void main(String[] arguments) {
        SpringApplication.run(Application.class, arguments);
    }
}

@RestController
class Pages {
    private final RestClient api;

    Pages(OAuth2AuthorizedClientManager clients, @Value("${server.port}") int port) {
        var bearer = new OAuth2ClientHttpRequestInterceptor(clients);
        bearer.setClientRegistrationIdResolver(request -> "symbolon");
        api = RestClient.builder().baseUrl("http://localhost:" + port).requestInterceptor(bearer).build();
    }

    @GetMapping(path = "/", produces = "text/html")
    String index(@AuthenticationPrincipal OidcUser user, Authentication authentication) {
        return "<h1>Spring Boot %s</h1><p>%s, %s, <p>%s".formatted(
            SpringBootVersion.getVersion(), user.getFullName(), user.getEmail(), authentication.getAuthorities());
    }

    @GetMapping("/staff")
    String staff() {
        return "For staff.";
    }

    /** Calls the API, and answers as it does. */
    @GetMapping("/call/{what}")
    ResponseEntity<String> call(@PathVariable String what) {
        return api.get().uri("/api/{what}", what).retrieve()
            .onStatus(HttpStatusCode::isError, (request, response) -> { })
            .toEntity(String.class);
    }
}

@RestController
class Api {
    @GetMapping("/api/whoami")
    Map<String, String> whoami(JwtAuthenticationToken bearer) {
        return Map.of("sub", bearer.getName(), "authorities", bearer.getAuthorities().toString(),
            "token", bearer.getToken().getId());
    }

    @GetMapping("/api/edit")
    String edit() {
        return "For editors.";
    }
}
